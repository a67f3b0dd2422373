// Command vsphere serves a simulated vCenter on a port of this machine: `make lab-vsphere-up`
// and `make lab-vsphere-down` are this.
//
//	vsphere up [-listen 127.0.0.1:15443] [-machines LAB]    start it, and print how to reach it
//	vsphere down                                            stop it: its state is lost
//	vsphere serve …                                         the same as up, in the foreground
//
// With -machines its VMs live: one that is switched on is a machine of the Kubernetes lab of
// that name, which `make lab-up` made.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
	"fairlead.dev/test/lab/daemon"
	"fairlead.dev/test/lab/kubernetes/lab"
	"fairlead.dev/test/lab/vsphere/guests"
)

func main() {
	lab.Hook() // machines start as this program
	flags := flag.NewFlagSet("vsphere", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:15443", "address and port")
	machines := flags.String("machines", "", "name of the Kubernetes lab whose machines VMs are; none: they are simulated")
	daemon.Main("vsphere", "vcenter.env", flags, func(ctx context.Context, p daemon.Process) error { return serve(ctx, p, *listen, *machines) })
}

// serve runs a vCenter until it is asked to end.
func serve(ctx context.Context, p daemon.Process, listen, machines string) error {
	o := vspheretest.Options{Listen: listen, Guest: address()}
	say := func(s string) { fmt.Println(time.Now().Format(time.TimeOnly), s) }
	var g *guests.Guests
	if machines != "" {
		l, err := lab.View(machines)
		if err != nil {
			return err
		}
		if g, err = guests.New(l.Machines(), say); err != nil {
			return err
		}
		defer g.Close()
		o.Guest, o.Power = nil, g.Power
		for _, v := range l.Versions() {
			o.Templates = append(o.Templates, vspheretest.Template{Name: "ubuntu-2204-kube-" + v, Snapshot: "ready"})
		}
	}
	v, err := vspheretest.Start(o)
	if err != nil {
		return err
	}
	defer v.Close()
	if g != nil {
		g.Attach(v)
	}
	say("serves at " + v.Server())
	if err := p.Ready(environment(v)); err != nil {
		return err
	}
	<-ctx.Done()
	return p.Ended()
}

// environment says how to reach v, to a shell and to govc.
func environment(v *vspheretest.VCenter) string {
	return fmt.Sprintf(`export VSPHERE_SERVER=%s
export VSPHERE_USERNAME=%s
export VSPHERE_PASSWORD='%s'
export VSPHERE_THUMBPRINT=%s
export GOVC_URL=https://$VSPHERE_SERVER/sdk GOVC_USERNAME=$VSPHERE_USERNAME GOVC_PASSWORD=$VSPHERE_PASSWORD GOVC_INSECURE=1
`, v.Server(), vspheretest.Administrator, vspheretest.Password, v.Thumbprint())
}

// address gives machines without a machine addresses that do not answer.
func address() func(vspheretest.Machine) []string {
	next := 0
	return func(vspheretest.Machine) []string {
		next++
		return []string{fmt.Sprintf("198.51.100.%d", next%250+1)}
	}
}
