// Package openstacktest is an OpenStack for tests: Keystone, Nova, Neutron,
// Glance, Octavia and Cinder in one http.Handler that keeps everything in
// memory, answers in microseconds and behaves as badly as the real services.
//
//	cloud := openstacktest.New(openstacktest.Options{})
//	client := cloud.Client()                  // an http.RoundTripper, no sockets
//	yaml := cloud.CloudsYAML(openstacktest.URL, "alice")
//
// It starts no goroutines and reads the time when it is asked: in a
// testing/synctest bubble a server that takes a minute to build takes no time.
// Delays of [Options] say how slow things are. With no delays a change is done
// when the next call comes, but its answer still shows what the real service
// would show at once: BUILD, PENDING_CREATE, creating.
//
// There are the projects alpha (users alice and carol) and beta (user bob), and
// admin (user admin), who sees everything. The password of a user is the user's
// name followed by "-secret". Every region has the external network [External],
// the images ubuntu and flatcar, the flavors m1.tiny, m1.small, m1.medium and
// m1.nodisk, the
// availability zones az1 to az3, the volume types fast and slow, the load
// balancer providers amphora and ovn, and every user the key pair key.
//
// Faults are injected by rule ([Cloud.Inject]); a program dies at its nth call
// with [Client.DieAt]. What is there is read and broken from outside with
// [Cloud.Objects], [Cloud.Edit], [Cloud.Remove] and [Cloud.Add].
//
// A cell of Nova may be down, Nova may keep deleted servers, and Neutron may lack
// extensions: see [Options]. A port has its server as device until Nova lets go of
// it. The load balancer provider ovn refuses what the real one refuses.
//
// Status codes, error bodies, and the keys and types of other answers are those of
// the real services: a test runs one script of calls against both where the lab is up.
package openstacktest
