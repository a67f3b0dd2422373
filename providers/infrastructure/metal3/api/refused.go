package api

// refusedOfMachine are the fields of a Metal3MachineTemplate that stay refused.
func refusedOfMachine() map[string]string {
	const at = "spec.template.spec."
	const fromTemplate = "every machine of the template would be told the same: write it into a " + dataTemplateKind + ", and name that in dataTemplate"
	return map[string]string{
		at + "providerID":    "each machine gets an id of its own: leave the field out",
		at + "failureDomain": "write failureDomain into the MachineDeployment: a template is for all of them",
		at + "userData":      "what a machine boots with is made from its bootstrap configuration: write it there",
		at + "metaData":      fromTemplate,
		at + "networkData":   fromTemplate,
		"spec.template.metadata": "a machine of this provider has no labels and annotations of its own: " +
			"put them into the machine template of the MachineDeployment or KubeadmControlPlane",
	}
}

// refusedOfHost are the fields of a BareMetalHost that stay refused.
func refusedOfHost() map[string]string {
	const claimed = "a host is claimed by Fairlead, at Ironic, when a machine is made on it: leave the field out, " +
		"and say in a Metal3MachineTemplate what is to run; a host that runs something else has externallyProvisioned: true"
	return map[string]string{
		"spec.consumerRef":     claimed,
		"spec.image":           claimed,
		"spec.userData":        claimed,
		"spec.networkData":     claimed,
		"spec.metaData":        claimed,
		"spec.customDeploy":    claimed,
		"spec.taints":          "no code of Metal3 reads it: write taints into the MachineDeployment",
		"spec.firmware":        "no code of Metal3 reads it: write the settings into HostFirmwareSettings",
		"spec.hardwareProfile": "profiles are gone from Metal3: use architecture and rootDeviceHints",
	}
}

// notYet are the fields, by kind, that are checked but that the provider does not honour yet,
// with the way out. A change that honours one takes its line away, and nothing else.
func notYet() map[string]map[string]string {
	return map[string]map[string]string{
		HostKind: {
			"spec.preprovisioningNetworkDataName": "the ramdisk is not told its network here yet: have DHCP give it addresses",
			"spec.disablePowerOff":                "hosts are switched off when they are cleaned: leave the field out",
			"spec.networkInterfaces":              "switches are not set up here: do it by hand, and leave the field out",
		},
	}
}
