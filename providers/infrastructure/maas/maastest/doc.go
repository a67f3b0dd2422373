// Package maastest is a double of MAAS: the REST API 2.0 of a region and the hosts behind it.
//
// It does what the source of MAAS 3.4 to 3.8 does as far as a provider can tell: rights, states, answers, and
// what a release forgets when. It misbehaves as MAAS does: releases that fail leave a machine running, DNS
// names lead to hosts that they were not given, and a 503 may follow a change that was made.
//
//	r := maastest.NewRegion()
//	u := r.AddUser("fleet", false)
//	r.Add(maastest.Machine{Hostname: "m1", CPU: 8, Memory: 16384})
//	r.Inject(maastest.Fault{Changes: true, Times: 1, Lose: true})
//
// A Region is an http.RoundTripper and needs no network, so that tests can run in a bubble of synctest.
// Serve makes it a server. Time passes when requests come.
package maastest
