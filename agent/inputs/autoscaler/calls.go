package autoscaler

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlead.dev/agent/inputs/autoscaler/externalgrpc"
	"fairlead.dev/fleet"
)

// NodeGroups implements externalgrpc.CloudProviderServer, as do the methods below.
func (s *Server) NodeGroups(ctx context.Context, _ *externalgrpc.NodeGroupsRequest) (*externalgrpc.NodeGroupsResponse, error) {
	_, c, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	out := &externalgrpc.NodeGroupsResponse{}
	for _, g := range groupsOf(c) {
		out.NodeGroups = append(out.NodeGroups, g.message())
	}
	return out, nil
}

// NodeGroupForNode answers with no id for Nodes of other pools.
func (s *Server) NodeGroupForNode(ctx context.Context, in *externalgrpc.NodeGroupForNodeRequest) (*externalgrpc.NodeGroupForNodeResponse, error) {
	_, c, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range groupsOf(c) {
		if _, ok := g.machine(in.GetNode()); ok {
			return &externalgrpc.NodeGroupForNodeResponse{NodeGroup: g.message()}, nil
		}
	}
	return &externalgrpc.NodeGroupForNodeResponse{NodeGroup: &externalgrpc.NodeGroup{}}, nil
}

// GPULabel is the label that cluster-autoscaler's provider for Cluster API uses.
func (s *Server) GPULabel(context.Context, *externalgrpc.GPULabelRequest) (*externalgrpc.GPULabelResponse, error) {
	return &externalgrpc.GPULabelResponse{Label: "cluster-api/accelerator"}, nil
}

// GetAvailableGPUTypes knows none: what has accelerators says so by its capacity.
func (s *Server) GetAvailableGPUTypes(context.Context, *externalgrpc.GetAvailableGPUTypesRequest) (*externalgrpc.GetAvailableGPUTypesResponse, error) {
	return &externalgrpc.GetAvailableGPUTypesResponse{}, nil
}

// Cleanup does nothing: the server is not the autoscaler's.
func (s *Server) Cleanup(context.Context, *externalgrpc.CleanupRequest) (*externalgrpc.CleanupResponse, error) {
	return &externalgrpc.CleanupResponse{}, nil
}

// Refresh does nothing: answers are always new.
func (s *Server) Refresh(ctx context.Context, _ *externalgrpc.RefreshRequest) (*externalgrpc.RefreshResponse, error) {
	_, _, err := s.cluster(ctx)
	return &externalgrpc.RefreshResponse{}, err
}

// NodeGroupTargetSize answers with what was decided last.
func (s *Server) NodeGroupTargetSize(ctx context.Context, in *externalgrpc.NodeGroupTargetSizeRequest) (*externalgrpc.NodeGroupTargetSizeResponse, error) {
	g, err := s.group(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return &externalgrpc.NodeGroupTargetSizeResponse{TargetSize: int32(g.pool.Replicas)}, nil
}

// NodeGroupIncreaseSize refuses what is beyond the upper bound.
func (s *Server) NodeGroupIncreaseSize(ctx context.Context, in *externalgrpc.NodeGroupIncreaseSizeRequest) (*externalgrpc.NodeGroupIncreaseSizeResponse, error) {
	err := s.change(ctx, in.GetId(), func(g group) (fleet.Scale, error) {
		n, more := g.pool.Replicas, int(in.GetDelta())
		switch {
		case more <= 0:
			return fleet.Scale{}, status.Errorf(codes.InvalidArgument, "delta must be above 0, is %d", more)
		case n+more > g.pool.Scaling.Max:
			return fleet.Scale{}, status.Errorf(codes.InvalidArgument, "pool %s would have %d machines: at most %d are allowed", in.GetId(), n+more, g.pool.Scaling.Max)
		}
		return g.scale(n+more, said("asked for %d instead of %d", n+more, n)), nil
	})
	return &externalgrpc.NodeGroupIncreaseSizeResponse{}, err
}

// NodeGroupDeleteNodes marks the machines of the nodes and makes the pool smaller
// by as many. One that goes already is not counted: the call may be repeated.
func (s *Server) NodeGroupDeleteNodes(ctx context.Context, in *externalgrpc.NodeGroupDeleteNodesRequest) (*externalgrpc.NodeGroupDeleteNodesResponse, error) {
	err := s.change(ctx, in.GetId(), func(g group) (fleet.Scale, error) {
		var ids []fleet.ProviderID
		for _, n := range in.GetNodes() {
			m, ok := g.machine(n)
			switch id := m.Machine.ProviderID; {
			case !ok:
				return fleet.Scale{}, status.Errorf(codes.InvalidArgument, "node %s is on no machine of pool %s", n.GetName(), in.GetId())
			case !g.going(m) && !slices.Contains(ids, id):
				ids = append(ids, id)
			}
		}
		n := g.pool.Replicas
		switch {
		case len(ids) == 0:
			return g.scale(n, g.pool.Scaling.Reason), nil
		case n-len(ids) < g.pool.Scaling.Min:
			return fleet.Scale{}, status.Errorf(codes.InvalidArgument, "pool %s would have %d machines: at least %d are needed", in.GetId(), n-len(ids), g.pool.Scaling.Min)
		}
		return g.scale(n-len(ids), said("removes %d of %d", len(ids), n), ids...), nil
	})
	return &externalgrpc.NodeGroupDeleteNodesResponse{}, err
}

// NodeGroupDecreaseTargetSize refuses to go below the machines that are there.
func (s *Server) NodeGroupDecreaseTargetSize(ctx context.Context, in *externalgrpc.NodeGroupDecreaseTargetSizeRequest) (*externalgrpc.NodeGroupDecreaseTargetSizeResponse, error) {
	err := s.change(ctx, in.GetId(), func(g group) (fleet.Scale, error) {
		n, there := g.pool.Replicas, 0
		for _, m := range g.machines {
			if !g.going(m) {
				there++
			}
		}
		next := n + int(in.GetDelta())
		switch {
		case in.GetDelta() >= 0:
			return fleet.Scale{}, status.Errorf(codes.InvalidArgument, "delta must be below 0, is %d", in.GetDelta())
		case next < there:
			return fleet.Scale{}, status.Errorf(codes.InvalidArgument, "pool %s has %d machines: to have %d, name those to delete", in.GetId(), there, next)
		case next < g.pool.Scaling.Min:
			return fleet.Scale{}, status.Errorf(codes.InvalidArgument, "pool %s would have %d machines: at least %d are needed", in.GetId(), next, g.pool.Scaling.Min)
		}
		return g.scale(next, said("reduced the expected size from %[2]d to %[1]d", next, n)), nil
	})
	return &externalgrpc.NodeGroupDecreaseTargetSizeResponse{}, err
}

// NodeGroupNodes lists the machines that have an id, with how they are.
func (s *Server) NodeGroupNodes(ctx context.Context, in *externalgrpc.NodeGroupNodesRequest) (*externalgrpc.NodeGroupNodesResponse, error) {
	g, err := s.group(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	out := &externalgrpc.NodeGroupNodesResponse{}
	for _, m := range g.machines {
		if m.Machine.ProviderID != "" {
			out.Instances = append(out.Instances, instance(m))
		}
	}
	return out, nil
}
