// Command azure serves a double of Azure behind a proxy on a port of this machine: `make lab-azure-up` and
// `make lab-azure-down` are this.
//
//	azure up [-listen 127.0.0.1:15445] [-slow]    start it, and print how to reach it
//	azure down                                    stop it: its state is lost
//	azure serve …                                 the same as up, in the foreground
//
// With -slow things take about as long as on Azure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"fairlead.dev/providers/infrastructure/azure/azuretest"
	"fairlead.dev/test/lab/daemon"
	"fairlead.dev/test/lab/doubles/azure/front"
)

func main() {
	flags := flag.NewFlagSet("azure", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:15445", "address and port")
	slow := flags.Bool("slow", false, "things take about as long as on Azure")
	daemon.Main("azure", "azure.env", flags, func(ctx context.Context, p daemon.Process) error { return serve(ctx, p, *listen, *slow) })
}

// serve runs the double until it is asked to end.
func serve(ctx context.Context, p daemon.Process, listen string, slow bool) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	unit := 100 * time.Millisecond
	if slow {
		unit = 2 * time.Second
	}
	c, err := front.Certificate()
	if err != nil {
		return err
	}
	authority := p.File("authority.pem")
	if err := os.WriteFile(authority, front.Authority(c), 0o600); err != nil {
		return err
	}
	cloud := azuretest.New(azuretest.Options{Lag: unit, Make: 5 * unit, Start: 20 * unit, Delete: 10 * unit, Managed: 120 * unit})
	proxy := front.NewProxy(cloud, c)
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	fmt.Println(time.Now().Format(time.TimeOnly), "serves at", l.Addr())
	if err := p.Ready(fmt.Sprintf(`export HTTPS_PROXY=http://%s
export SSL_CERT_FILE=%s
export AZURE_SUBSCRIPTION_ID=%s
export AZURE_TENANT_ID=%s
export AZURE_CLIENT_ID=%s
export AZURE_CLIENT_SECRET=%s
`, l.Addr(), authority, azuretest.Subscription, azuretest.Tenant, azuretest.ClientID, azuretest.Password)); err != nil {
		return err
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = errors.Join(server.Close(), proxy.Close())
		if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
	}
	return errors.Join(err, p.Ended())
}
