// Command aws serves a double of AWS on a port of this machine: `make lab-aws-up` and `make lab-aws-down`
// are this.
//
//	aws up [-listen 127.0.0.1:15444] [-slow]    start it, and print how to reach it
//	aws down                                    stop it: its state is lost
//	aws serve …                                 the same as up, in the foreground
//
// With -slow things take about as long as on AWS.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"time"

	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/test/lab/daemon"
)

func main() {
	flags := flag.NewFlagSet("aws", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:15444", "address and port")
	slow := flags.Bool("slow", false, "things take about as long as on AWS")
	daemon.Main("aws", "aws.env", flags, func(ctx context.Context, p daemon.Process) error { return serve(ctx, p, *listen, *slow) })
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
	cloud := awstest.New(awstest.Options{Delays: awstest.Delays{Lag: unit, Start: 10 * unit, Terminate: 15 * unit, NAT: 45 * unit, Balancer: 60 * unit}})
	server := &http.Server{Handler: cloud, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	fmt.Println(time.Now().Format(time.TimeOnly), "serves at", l.Addr())
	if err := p.Ready(fmt.Sprintf(`export AWS_ACCESS_KEY_ID=%s
export AWS_SECRET_ACCESS_KEY=%s
export AWS_REGION=%s
export AWS_ENDPOINT_URL=http://%s
export FAIRLEAD_AWS_ENDPOINT=$AWS_ENDPOINT_URL
`, awstest.AccessKey, awstest.SecretKey, cloud.Region(), l.Addr())); err != nil {
		return err
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = server.Close()
		if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
	}
	return errors.Join(err, p.Ended())
}
