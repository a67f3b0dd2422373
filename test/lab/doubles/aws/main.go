// Command aws serves a double of AWS on a port of this machine: `make lab-aws-up` and `make lab-aws-down`
// are this.
//
//	aws up [-listen 127.0.0.1:15444] [-slow] [-kube]    start it, and print how to reach it
//	aws down                                            stop it: its state is lost
//	aws serve …                                         the same as up, in the foreground
//
// With -slow things take about as long as on AWS. With -kube clusters of EKS have API servers that are real, and Nodes.
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
	"fairlead.dev/test/lab/doubles/aws/eks"
)

func main() {
	flags := flag.NewFlagSet("aws", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:15444", "address and port")
	slow := flags.Bool("slow", false, "things take about as long as on AWS")
	clusters := flags.Bool("kube", false, "clusters of EKS have API servers that are real, after make kube")
	daemon.Main("aws", "aws.env", flags, func(ctx context.Context, p daemon.Process) error { return serve(ctx, p, *listen, *slow, *clusters) })
}

// serve runs the double until it is asked to end.
func serve(ctx context.Context, p daemon.Process, listen string, slow, kube bool) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	unit := 100 * time.Millisecond
	if slow {
		unit = 2 * time.Second
	}
	o := awstest.Options{Delays: awstest.Delays{Lag: unit, Start: 10 * unit, Terminate: 15 * unit, NAT: 45 * unit, Balancer: 60 * unit}}
	if !kube {
		return serveCloud(ctx, p, l, awstest.New(o))
	}
	planes, err := eks.New(func(s string) { fmt.Println(time.Now().Format(time.TimeOnly), s) })
	if err != nil {
		return errors.Join(err, l.Close())
	}
	o.Planes = planes
	cloud := awstest.New(o)
	for _, minor := range []string{"1.35", "1.36"} { // those that there may be a program of
		cloud.AddParameter("/aws/service/eks/optimized-ami/"+minor+"/amazon-linux-2023/x86_64/standard/recommended/image_id", "ami-00000000000000002")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	clusters := make(chan error, 1)
	go func() { clusters <- planes.Serve(ctx, cloud) }()
	err = serveCloud(ctx, p, l, cloud)
	cancel()
	return errors.Join(err, <-clusters)
}

// serveCloud serves cloud at l until it is asked to end.
func serveCloud(ctx context.Context, p daemon.Process, l net.Listener, cloud *awstest.Cloud) error {
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
	var err error
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
