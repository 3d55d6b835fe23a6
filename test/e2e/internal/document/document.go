// Package document writes the configurations that the suites hand to programs: those of CRI, CNI, node-problem-detector and
// Kubernetes.
package document

import "encoding/json"

// JSON encodes v. It panics where v cannot be encoded, which is a mistake in the suite.
func JSON(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}
