// Package takeover has an agent of one version of Fairlead take the place of one of
// another, and back, as programs, on whatever infrastructure a test has.
//
//	takeover.Run(t, takeover.Fleet{
//		Old: os.Getenv("FAIRLEAD_TEST_RELEASED"), New: "bin/fairlead",
//		Source: url, Bare: folder, Secrets: secrets, Cluster: key, Pool: "eu-1-md-0",
//	})
//
// Each finds what the other left: no plan, no action, the same machines, and what people
// asked for on the status branch. `make test-upgrade OLD=COMMIT` runs it.
package takeover
