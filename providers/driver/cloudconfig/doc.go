// Package cloudconfig reads user data of cloud-init: the configuration of a machine in
// the format cloud-config, which may be a template of Jinja.
//
// It reads what Fairlead writes and what people add to that in a KubeadmConfig: files,
// commands, users, and the modules for disks and time. Templates know variables and raw
// blocks. Reading is for providers that carry user data out themselves, or that have to
// say what is in it:
//
//	c, err := cloudconfig.Reader{Variables: vars, Strict: true}.Read(data)
//	for _, f := range c.WriteFiles {
//		content, err := f.Decoded()
//		…
//	}
//
// Its errors quote no content: keys are in there.
package cloudconfig
