// Package lab gives tests machines: Debian with systemd, sshd, cloud-init,
// containerd and the programs of Kubernetes, of which each has its own disk,
// address, processes and power switch. They share the kernel of their host, as
// containers do, so they are there in seconds and need no virtualisation.
//
//	func TestMain(m *testing.M) {
//		lab.Hook()                                        // machines start as this program
//		os.Exit(m.Run())
//	}
//
//	l, err := lab.Up(ctx, lab.Options{Name: "e2e", Machines: 3})
//	defer l.Down()
//	m := l.Machines()[0]
//	m.Address, l.Key                                      // ssh -i KEY root@ADDRESS, inside l's network
//	out, err := m.Exec(ctx, "kubectl", "get", "nodes")    // needs neither network nor sshd
//	m.Kill(); m.Start(ctx); m.Wipe(ctx)                   // the plug; the switch; a new disk
//
// The network of a lab is a namespace of its own with a bridge: nothing of the
// host's network is changed, and nothing of the host is reached from machines,
// nor machines from it. Who wants to reach them goes there: Enter for a whole
// program, Dial for one connection, `lab run COMMAND` for a command. From there DialOutside
// leads back.
//
// What a killed test leaves behind is removed by the next Up of the same name.
package lab
