// Package cloudinit writes cloud-configs, the user data that cloud-init reads, so that
// every reader of YAML takes strings for what they are and Jinja expressions in them reach
// cloud-init unchanged. Equal values give equal bytes.
//
//	data, err := cloudinit.Config{RunCmd: cloudinit.Texts([]string{"echo {{ v1.region }}"})}.Marshal()
package cloudinit
