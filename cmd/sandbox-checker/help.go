package main

import (
	"fmt"
	"strings"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/checks"
)

// help prints the commands, one command's flags, or one check's documentation.
func (c *cli) help(args []string) (int, error) {
	switch len(args) {
	case 0:
		return 0, c.print(usage())
	case 1:
		for _, cmd := range commands() {
			if cmd.name == args[0] {
				return 0, c.print(cmd.help())
			}
		}
		chk, ok := checks.Named(args[0])
		if !ok {
			return 0, fmt.Errorf("help %s: unknown check or command, want one of %s", args[0], names())
		}
		return 0, c.print(checkHelp(chk))
	default:
		return 0, fmt.Errorf("help: want one check of %s", names())
	}
}

func usage() string {
	var b strings.Builder
	b.WriteString("sandbox-checker finds pods that cannot get a sandbox, and says why.\n\nCommands:\n")
	for _, cmd := range commands() {
		fmt.Fprintf(&b, "  %-35s %s\n", cmd.usage, cmd.about)
	}
	b.WriteString("\nChecks:\n")
	for _, chk := range checks.All() {
		fmt.Fprintf(&b, "  %-17s %s\n", chk.Name, chk.Title)
	}
	b.WriteString("\nFlags of check, report, capture and repair, where nothing else is said:\n" + sharedFlags().FlagUsages())
	for _, cmd := range commands() {
		if own := cmd.own(); own.HasFlags() {
			fmt.Fprintf(&b, "\nFlags of %s:\n%s", cmd.name, own.FlagUsages())
		}
	}
	return b.String()
}

func (cmd command) help() string {
	text := cmd.usage + "\n\n  " + cmd.about + "\n"
	if cmd.flags != nil {
		text += "\nFlags:\n" + cmd.flags(&settings{}).FlagUsages()
	}
	return text
}

func checkHelp(chk plugin.Check) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", chk.Name, chk.Title)
	fmt.Fprintf(&b, "condition %s, True with reason %s, False with %s\n", chk.Condition, chk.Reason, chk.HealthyReason)
	for _, part := range sections(chk) {
		fmt.Fprintf(&b, "\n%s\n", part.title)
		for _, l := range part.lines {
			fmt.Fprintf(&b, "  - %s\n", l)
		}
	}
	return b.String()
}

// section is a heading of a check's documentation and what stands below it.
type section struct {
	title string
	lines []string
}

// sections are the check's documentation in the order in which it is read.
func sections(chk plugin.Check) []section {
	var without []string
	for i, then := range chk.Help.Without.Cells() {
		without = append(without, plugin.Lacks[i]+": "+then)
	}
	parts := []section{
		{"Says", chk.Help.Says}, {"Cure", chk.Help.Cure}, {"Who acts", chk.Help.Acts}, {"Stays silent", chk.Help.Silent},
		{"Reads", chk.Help.Reads}, {"Needs", chk.Help.Needs}, {"Without", without},
	}
	if chk.Help.Knows != nil {
		parts = append(parts, section{"Knows", chk.Help.Knows()})
	}
	return parts
}
