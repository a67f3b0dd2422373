package autoscaler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/agent/inputs/autoscaler/externalgrpc"
	"fairlead.dev/fleet"
)

// A Fleet is what is scaled.
type Fleet interface {
	// Scalable returns the present state of a cluster. Errors are of kind NotFound where there
	// is none, and Unavailable where nothing is known of it at the moment.
	Scalable(k fleet.Key) (fleet.Scalable, error)
	// Scale has change decide on a pool of cluster k and writes that down. Errors
	// of change are returned unchanged.
	Scale(ctx context.Context, k fleet.Key, change func(fleet.Scalable) (fleet.Scale, error)) error
}

// patience bounds how long it takes to write a decision down. The autoscaler
// waits less, as a rule; a decision that lands later is one that it finds.
const patience = 30 * time.Second

// A Server answers cluster-autoscalers.
type Server struct {
	externalgrpc.UnimplementedCloudProviderServer
	fleet      Fleet
	registered Registered
	log        *slog.Logger
	grpc       *grpc.Server
}

// Registered returns labels and taints with which the kubelets of a pool register.
type Registered func(c *fleet.Cluster, p fleet.Pool) (map[string]string, []corev1.Taint)

// New returns a server of f. The error says which of the files cannot be used.
func New(f Fleet, files Files, registered Registered, log *slog.Logger) (*Server, error) {
	transport, err := transport(files)
	if err != nil {
		return nil, err
	}
	s := &Server{fleet: f, registered: registered, log: log}
	s.grpc = grpc.NewServer(grpc.Creds(transport), grpc.MaxRecvMsgSize(4<<20), grpc.UnaryInterceptor(s.observe))
	externalgrpc.RegisterCloudProviderServer(s.grpc, s)
	return s, nil
}

// Serve answers on l until ctx ends, and closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, s.grpc.Stop)
	defer stop()
	err := s.grpc.Serve(l)
	if ctx.Err() != nil || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// observe logs calls that failed.
func (s *Server) observe(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	out, err := next(ctx, req)
	if c := status.Code(err); c != codes.OK && c != codes.Unimplemented {
		s.log.WarnContext(ctx, "cannot answer an autoscaler", "call", info.FullMethod, "error", err)
	}
	return out, err
}

// cluster returns the cluster that the caller scales.
func (s *Server) cluster(ctx context.Context) (fleet.Key, fleet.Scalable, error) {
	k, err := caller(ctx)
	if err != nil {
		return k, fleet.Scalable{}, err
	}
	c, err := s.fleet.Scalable(k)
	return k, c, answer(err)
}

// group returns the group with that id of the caller's cluster.
func (s *Server) group(ctx context.Context, id string) (group, error) {
	_, c, err := s.cluster(ctx)
	if err != nil {
		return group{}, err
	}
	return groupOf(c, id)
}

// change has decide say how many machines a group of the caller's cluster is to
// have, and writes that down.
func (s *Server) change(ctx context.Context, id string, decide func(g group) (fleet.Scale, error)) error {
	k, err := caller(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err = s.fleet.Scale(ctx, k, func(c fleet.Scalable) (fleet.Scale, error) {
		g, err := groupOf(c, id)
		if err != nil {
			return fleet.Scale{}, err
		}
		if why := g.resting(time.Now()); why != "" {
			return fleet.Scale{}, status.Errorf(codes.FailedPrecondition, "pool %s is not scaled now: %s", id, why)
		}
		return decide(g)
	})
	return answer(err)
}

// answer returns err as gRPC tells it.
func answer(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	code := codes.Unavailable
	switch fleet.KindOf(err) {
	case fleet.NotFound:
		code = codes.NotFound
	case fleet.Invalid:
		code = codes.InvalidArgument
	}
	return status.Error(code, err.Error())
}

// said is what the reason of a decision begins with.
func said(format string, args ...any) string {
	return "cluster-autoscaler " + fmt.Sprintf(format, args...)
}
