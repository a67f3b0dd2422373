// Package dockertest is a Docker daemon in memory, for tests: containers with labels, files and addresses, and no
// processes in them. It is as bad as the real one: names are in conflict, answers get lost, containers end, and a
// restart of the daemon gives new addresses.
package dockertest
