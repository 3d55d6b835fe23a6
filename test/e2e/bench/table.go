package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Head is the table's first lines.
const Head = `| pods / containers | what | calls | answers, KiB | CPU, ms | middle half | wall, ms | peak, MiB | read, KiB | forks | CPU ratio |
|---|---|---|---|---|---|---|---|---|---|---|
`

// Rows writes a case into the table.
func (r Result) Rows(w io.Writer) {
	row := func(what string, calls Calls, s Sample, ratio string) {
		m := s.Median()
		low, high := s.Quartiles()
		forks := "none"
		if m.Forked {
			forks = "yes"
		}
		_, _ = fmt.Fprintf(w, "| %s | %s | %d | %d | %.1f | %.1f to %.1f | %.1f | %.1f | %d | %s | %s |\n", r.Case.Name, what, len(calls.Names),
			calls.Bytes>>10, ms(m.CPU), ms(low), ms(high), ms(m.Wall), float64(m.Peak)/(1<<20), m.Read>>10, forks, ratio)
	}
	var all Calls
	for _, c := range r.Checks {
		row(c.Name, c.Calls, c.Check, fmt.Sprintf("%.2f of its floor", Ratio(c.Check, c.Floor)))
		calls := "floor: " + strings.Join(c.Calls.Names, ", ")
		if c.withLog {
			row(calls, c.Calls, c.FloorOfCRI, fmt.Sprintf("(%s: %.2f of this)", c.Name, Ratio(c.Check, c.FloorOfCRI)))
			calls += ", /dev/kmsg"
		}
		row(calls, c.Calls, c.Floor, "")
		all.Names, all.Bytes = append(all.Names, c.Calls.Names...), all.Bytes+c.Calls.Bytes
	}
	row("**four checks**", all, r.Round(), fmt.Sprintf("**%.2f of the pipeline**", Ratio(r.Round(), r.Pipeline)))
	row("pipeline", r.Piped, r.Pipeline, "")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
