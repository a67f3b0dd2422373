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
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/test/lab/daemon"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("missing argument: up, down or serve; test/lab/doubles/aws/main.go lists their flags")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:15444", "address and port")
	slow := flags.Bool("slow", false, "things take about as long as on AWS")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	dir, err := folder()
	if err != nil {
		return err
	}
	p := daemon.Process{Dir: dir, Env: "aws.env"}
	switch args[0] {
	case "up":
		return p.Up(ctx, args[1:])
	case "down":
		return p.Down(ctx)
	case "serve":
		return serve(ctx, p, *listen, *slow)
	}
	return fmt.Errorf("unknown argument %q: must be one of up, down, serve", args[0])
}

// folder is where the process leaves its log and how to reach it.
func folder() (string, error) {
	if d := os.Getenv("FAIRLEAD_LAB_AWS"); d != "" {
		return d, nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "fairlead", "aws"), err
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
