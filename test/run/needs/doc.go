// Package needs decides where tests skip for something that a machine lacks: a program, a
// folder of other people's manifests, a binary that a target of make builds.
//
// # What it guarantees
//
// A test that skipped runs once what it lacked is there. The cache of go test takes a result
// as long as the files are the same that the test asked for through package os, and passes
// over those outside of the module, as all of these are. It tells them by the beginning of
// their names. So what is looked for is asked for by a name that begins with the folder of
// the module and leads out of it: /home/ada/fairlead/../../../usr/bin/haproxy.
//
//	haproxy := needs.Program(t, "haproxy", "apt-get install haproxy")
package needs
