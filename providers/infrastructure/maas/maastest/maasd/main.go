// Command maasd is a double of MAAS as a process: a region with hosts that are Ready. It prints the values of
// the Secret maas, and runs until it is interrupted.
//
//	go run ./providers/infrastructure/maas/maastest/maasd --listen 127.0.0.1:5240 --hosts 6
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"fairlead.dev/providers/infrastructure/maas/maastest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "maasd:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen at")
	hosts := flag.Int("hosts", 6, "number of hosts, in the zones a and b by turns")
	admin := flag.Bool("admin", true, "make the user an administrator, who may change DNS")
	deploy := flag.Duration("deploy", 5*time.Second, "duration of a deployment")
	release := flag.Duration("release", 2*time.Second, "duration of an erasure, and of switching off")
	flag.Parse()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	r := maastest.NewRegion()
	r.SetTimes(maastest.Times{Deploy: *deploy, PowerOff: *release, Erase: *release})
	u := r.AddUser("fleet", *admin)
	for i := range *hosts {
		r.Add(maastest.Machine{Hostname: fmt.Sprintf("m%02d", i), Zone: []string{"a", "b"}[i%2]})
	}
	if _, err := fmt.Fprintf(os.Stdout, "MAAS_ENDPOINT=http://%s/MAAS\nMAAS_API_KEY=%s\n", l.Addr(), u.Key()); err != nil {
		return err
	}
	return r.Serve(ctx, l)
}
