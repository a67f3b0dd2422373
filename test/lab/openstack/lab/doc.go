// Package lab gives tests a project of their own in the OpenStack that
// `make lab-openstack-up` starts on this machine, and the administrator's view
// of it. Where the lab is not up the test is skipped.
//
//	p := lab.NewProject(t)
//	secret := map[string][]byte{"clouds.yaml": p.CloudsYAML()}
package lab
