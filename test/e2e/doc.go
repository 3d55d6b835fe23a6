// Package e2e runs sandbox-checker against real parts: containerd, runc, the CNI plugins and node-problem-detector.
// It makes each fault on a runtime of its own and looks at what the built binary says.
//
// README.md tells what is needed and what each suite shows. All code is in test files, but for what internal/ shares with the
// packages below.
package e2e
