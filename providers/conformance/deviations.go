package conformance

// Deviations are the checks that a provider does not pass or that cannot be made of
// it, by the provider and the name of the check, each with the reason. It is the
// only place where a check of a built-in provider may be left out.
func Deviations() map[string]map[string]string {
	const (
		notWatched = "nothing tells when a host changes: the planner looks again"
		inError    = "a request that was taken made a server, which tells in state ERROR what went wrong: see FailedMachine"
		noHost     = "a server that is gone keeps no host busy that the project could see"
		noReboot   = "it does not reboot machines: no health check of its clusters asks for that"
		byTurns    = "nothing leads to single machines: kube-vip has the servers hand a virtual address to each other, so each one that stays can serve"
		noPools    = "machines have addresses of Neutron's subnets, which gives none of a network twice"
		noList     = "what clusters there are is noted on hosts, which are known by a cluster's pools alone"
		toOrder    = "a machine is made when it is asked for: nothing is there before that Git could name twice"
	)
	return map[string]map[string]string{
		"aws": {
			"OneComputerIsOneHost": "an instance is made when it is asked for: nothing is there before that Git could name twice",
			"EndpointIsNoMachines": "an endpoint is the name of a load balancer, or leads to something that Fairlead does not make",
			"RememberedPlace":      "a cluster is in one account and region, and Git leads to these",
			"FailedMachine":        "AWS terminates an instance that cannot start, and lists why for an hour: see FailedRequest",
			"ReleasedMachine":      "an instance that is terminated keeps nothing busy",
			"RebootedMachine":      noReboot,
			"AddressIsGivenOnce":   "machines have addresses of their subnets, which AWS gives once",
		},
		"azure": {
			"OneComputerIsOneHost": toOrder,
			"EndpointIsNoMachines": "an endpoint is the name of a load balancer, or leads to something that Fairlead does not make",
			"RememberedPlace":      "a cluster is in one resource group, and Git leads to that",
			"FailedRequest":        "a request that fails after it was accepted leaves a VM, which tells: see FailedMachine",
			"ReleasedMachine":      "a VM that is deleted keeps nothing busy",
			"RebootedMachine":      noReboot,
			"AddressIsGivenOnce":   "machines have addresses of their subnets, which Azure gives once",
		},
		"docker": {
			"FailedRequest":           "a request for a container is refused at once, or leaves one: see FailedMachine",
			"RememberedPlace":         "an agent has one daemon",
			"PlaceIsShared":           "an agent has one daemon",
			"ReleasedMachine":         "a container that is removed leaves nothing",
			"AddressIsGivenOnce":      "the daemon gives addresses, and Fairlead gives none",
			"LostRecordsProveNothing": "the daemon is the record of its containers: one that it does not know does not run",
			"OneComputerIsOneHost":    toOrder,
			"EndpointIsNoMachines":    "the daemon gives an address when a container starts: Git cannot name it before",
		},
		"inmemory": {
			"EndpointIsNoMachines":    "endpoints are loopback addresses, which no machine has",
			"OneComputerIsOneHost":    toOrder,
			"LostRecordsProveNothing": "the cloud is the record of its machines: one that it does not know does not run",
			"RememberedPlace":         "a cloud is one place, and Git leads to one cloud",
			"PlaceIsShared":           "the provider asks one cloud: no cluster of it is elsewhere",
			"UserDataTooLarge":        "the cloud takes what one request may hold, 4 MiB, and no limit of its own",
		},
		"maas": {
			"OneComputerIsOneHost": "Git names no hosts, and MAAS has each address of a network card once",
			"FailedRequest":        "a request for a machine is refused at once, or leaves a claim: see FailedMachine",
			"RememberedPlace":      "a region is one place, and Git leads a cluster to one: TestRestoredDatabase has what is remembered of machines there",
			"AddressIsGivenOnce":   "MAAS gives the addresses of its subnets, none twice, and Fairlead gives none",
		},
		"metal3": {
			"EndpointServes":             byTurns,
			"KnownEndpointServes":        byTurns,
			"FailedRequest":              "a host is claimed by one request, which Ironic refuses at once, and what fails afterwards the machine tells: see FailedMachine",
			"RememberedPlace":            "an Ironic is one place, and Git leads a cluster to one: TestLostDatabase has what is remembered of machines there",
			"LostAnswerOfInfrastructure": "clusters create nothing: hosts are enrolled for all of them, and stay: TestEnrolmentIsInterrupted loses each answer",
		},
		"vsphere": {
			"OneComputerIsOneHost":       toOrder,
			"EndpointServes":             byTurns,
			"KnownEndpointServes":        byTurns,
			"ReleasedMachine":            "a VM that is destroyed keeps no host busy",
			"RebootedMachine":            noReboot,
			"LostAnswerOfInfrastructure": "machines share nothing that would be made in vCenter: what they need is found there",
		},
		"openstack": {
			"OneComputerIsOneHost": toOrder,
			"AddressIsGivenOnce":   noPools,
			"FailedRequest":        inError,
			"ReleasedMachine":      noHost,
			"RebootedMachine":      noReboot,
		},
		"openstack-lab": {
			"EndpointIsNoMachines":       "it needs a hook that the lab has not got: the check is made with the fake",
			"OneComputerIsOneHost":       toOrder,
			"AddressIsGivenOnce":         noPools,
			"FailedRequest":              inError,
			"ReleasedMachine":            noHost,
			"RebootedMachine":            noReboot,
			"ObservePartOfIt":            "real services cannot be told to fail",
			"LookingChangesNothing":      "requests to real services are not counted: the check is made with the fake",
			"EndpointServes":             "load balancers of real services cannot be jammed: the check is made with the fake",
			"KnownEndpointServes":        "it needs a hook that the lab has not got: the check is made with the fake",
			"DepartedPoolIsKept":         "the lab looks itself at what is left of each project when a check ends: the check is made with the fake",
			"RefusalsAreTold":            "it needs a hook that the lab has not got: the check is made with the fake",
			"MistakesChangeNothing":      "it needs a hook that the lab has not got: the check is made with the fake",
			"FailureDomainIsKept":        "the lab has one availability zone",
			"SecondLookPrecedesAChange":  "requests to real services cannot be held back: the check is made with the fake",
			"LostAnswerOfCreate":         "real services cannot be told to lose an answer",
			"LostAnswerOfDelete":         "real services cannot be told to lose an answer",
			"LostAnswerOfInfrastructure": "real services cannot be told to lose an answer",
			"NothingIsLeft":              "the lab looks itself at what is left of each project when a check ends",
			"DeletionIsInterrupted":      "real services cannot be told to lose an answer",
			"LostTagsAreNotDeath":        "it needs a hook that the lab has not got: the check is made with the fake",
			"RememberedPlace":            "the lab's checks have one project each: the check is made with the fake",
			"DamagedTagsAreShown":        "it needs a hook that the lab has not got: the check is made with the fake",
			"LostRecordsProveNothing":    "real services cannot be told to lose what they know: the check is made with the fake",
			"FailedMachine":              "the lab's machines all start",
		},
		"hosts": {
			"EndpointIsNoMachines":       "Git has the addresses of all hosts, and an endpoint at one of them is refused when Git is read: TestEndpointOfAHost",
			"AddressIsGivenOnce":         "hosts have addresses before they are machines, and Fairlead gives none",
			"PlaceIsShared":              "each host is asked by itself, with a time limit, and one that is silent fails no look",
			"FailedRequest":              "a host is claimed by one script, which is refused at once or leaves a claim",
			"ReleasedMachine":            "what a machine ran may run until its host is clean: it is part of the cluster until then",
			"RebootedMachine":            noReboot,
			"ClustersAreListed":          noList,
			"ChangesAreTold":             notWatched,
			"RememberedPlace":            "how hosts are reached is in Git alone, so nothing leads to a pool that left it: TestPoolLeavesGit has that told instead",
			"OrphansLeaveNothing":        "hosts become free; the note that a cluster was on them stays, and holds none of them",
			"UserDataTooLarge":           "a host takes what its disk has room for: TestFullDisk fills one",
			"LostAnswerOfCreate":         "an answer cannot be lost alone: TestBrokenConnection cuts the connection at every part of a script instead",
			"LostAnswerOfDelete":         "an answer cannot be lost alone: TestRestart and TestSilentHost interrupt a release instead",
			"LostAnswerOfInfrastructure": "an answer cannot be lost alone: a note is written by one script, which is run as a whole or not at all",
			"DeletionIsInterrupted":      "an answer cannot be lost alone: TestRestart and TestSilentHost interrupt a release instead",
		},
	}
}
