package providers

// Changes returns, for each contract and ability that makes requests, which of its methods
// change something; embedded methods count. A dry run refuses these methods, and only package
// exec of the reconciler calls them, with the exceptions that test/rules/arrows lists.
func Changes() map[string]map[string]bool {
	const looks, changes = false, true
	return map[string]map[string]bool{
		"Observer":         {"Observe": looks},
		"WorkloadObserver": {"Observe": looks},
		"Infrastructure": {
			"Observe": looks, "Settle": looks,
			"EnsureInfrastructure": changes, "DeleteInfrastructure": changes, "CreateMachine": changes, "DeleteMachine": changes,
		},
		"Workload": {
			"Observe": looks, "Watch": looks, "Forget": looks,
			"SyncNode": changes, "Drain": changes, "Uncordon": changes, "DeleteNode": changes, "ApplyResources": changes, "PruneResources": changes,
			"DeleteExternalResources": changes,
		},
		"Distribution": {
			"Traits": looks, "Needs": looks, "NewSecrets": looks, "Rotate": looks, "NewKubeconfig": looks, "InspectKubeconfig": looks,
			"UserData": looks, "Registered": looks, "Steps": looks, "Observe": looks, "Members": looks,
			"RemoveMember": changes, "Admit": changes, "Apply": changes,
		},
		"Watcher":        {"Watch": looks},
		"Lister":         {"Clusters": looks},
		"OrphanRemover":  {"Orphans": looks, "RemoveOrphan": changes},
		"Adopter":        {"Adoptable": looks, "Adopt": changes, "Release": changes},
		"Charts":         {"Tries": looks, "Install": changes, "Uninstall": changes, "Forget": changes},
		"UntaggedFinder": {"Untagged": looks},
		"NodeIdentifier": {"NodeID": looks},
		"VirtualIPs":     {"VirtualIP": looks},
		"Checker":        {"Check": looks},
		"Rebooter":       {"SwitchMachine": changes},
		"EndpointKeeper": {"LeaveEndpoint": changes},
		"PoolKeeper":     {"EnsurePool": changes, "DeletePool": changes},
		"SecretAnswerer": {"AnswerSecrets": looks},
		"Placer":         {"PlaceOf": looks},
		"Closer":         {"Close": looks},
	}
}
