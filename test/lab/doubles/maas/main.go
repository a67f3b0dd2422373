// Command maas serves a double of MAAS on a port of this machine: `make lab-maas-up` and `make lab-maas-down` are this.
//
//	maas up [-n 6] [-listen 127.0.0.1:15240] [-machines LAB]    start it, and print how to reach it
//	maas down                                                  stop it: its state is lost
//	maas serve …                                               the same as up, in the foreground
//
// With -machines its hosts live: one that is deployed is a machine of the Kubernetes lab of that name, which `make
// lab-up` made.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"time"

	"fairlead.dev/providers/infrastructure/maas/maastest"
	"fairlead.dev/test/lab/daemon"
	"fairlead.dev/test/lab/doubles/maas/guests"
	"fairlead.dev/test/lab/kubernetes/lab"
)

func main() {
	lab.Hook() // machines start as this program
	flags := flag.NewFlagSet("maas", flag.ContinueOnError)
	n := flags.Int("n", 6, "number of hosts, in the zones a and b by turns")
	listen := flags.String("listen", "127.0.0.1:15240", "address and port, of HTTP by TCP and of DNS by UDP")
	machines := flags.String("machines", "", "name of the Kubernetes lab whose machines hosts are; none: nothing runs on them")
	daemon.Main("maas", "maas.env", flags, func(ctx context.Context, p daemon.Process) error { return serve(ctx, p, *n, *listen, *machines) })
}

func say(s string) { fmt.Println(time.Now().Format(time.TimeOnly), s) }

// serve runs a region with n hosts until it is asked to end.
func serve(ctx context.Context, p daemon.Process, n int, listen, machines string) error {
	r := maastest.NewRegion()
	r.SetTimes(maastest.Times{Deploy: 5 * time.Second, PowerOff: 2 * time.Second, Erase: 5 * time.Second})
	if machines != "" {
		l, err := lab.View(machines)
		if err != nil {
			return err
		}
		for _, v := range l.Versions() {
			r.AddImage("custom/kube-" + v)
		}
		g, err := guests.New(r, l.Machines(), func(i int, m *maastest.Machine) { m.Zone = zone(i) }, say)
		if err != nil {
			return err
		}
		defer g.Close()
	} else {
		for i := range n {
			r.Add(maastest.Machine{Hostname: fmt.Sprintf("host-%d", i), Zone: zone(i)})
		}
	}
	api, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	names, err := new(net.ListenConfig).ListenPacket(ctx, "udp", api.Addr().String())
	if err != nil {
		return errors.Join(err, api.Close())
	}
	user := r.AddUser("fleet", true)
	say("serves at " + api.Addr().String())
	if err := p.Ready(fmt.Sprintf("export MAAS_ENDPOINT=http://%s/MAAS\nexport MAAS_API_KEY=%s\n", api.Addr(), user.Key())); err != nil {
		return errors.Join(err, api.Close(), names.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- r.ServeNames(ctx, names)
	}()
	err = r.Serve(ctx, api)
	stop()
	return errors.Join(err, <-ended, p.Ended())
}

// zone returns the zone of the host i.
func zone(i int) string { return []string{"a", "b"}[i%2] }
