package autoscaler

import (
	"context"
	"maps"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/inputs/autoscaler/externalgrpc"
)

// defaultPods is how many pods a kubelet takes by default.
const defaultPods = 110

// NodeGroupTemplateNodeInfo answers with what the capacity annotations of the pool
// say, and is not implemented for a pool without: the autoscaler needs it where a
// pool has no Node to look at.
func (s *Server) NodeGroupTemplateNodeInfo(ctx context.Context, in *externalgrpc.NodeGroupTemplateNodeInfoRequest) (*externalgrpc.NodeGroupTemplateNodeInfoResponse, error) {
	g, err := s.group(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	c := g.pool.Scaling.Capacity
	if c.Cpu().IsZero() || c.Memory().IsZero() {
		return nil, status.Errorf(codes.Unimplemented,
			"pool %s does not say what its nodes have: give its MachineDeployment the annotations capacity.cluster-autoscaler.kubernetes.io/cpu and …/memory", in.GetId())
	}
	b, err := s.node(g).Marshal()
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &externalgrpc.NodeGroupTemplateNodeInfoResponse{NodeInfo: b, NodeBytes: b}, nil
}

// node returns a Node as a new machine of g will have it.
func (s *Server) node(g group) *corev1.Node {
	p, scaling := g.pool, g.pool.Scaling
	labels, taints := s.registered(g.cluster, p)
	name := string(p.Name) + "-template"
	has := maps.Clone(scaling.Capacity)
	if _, ok := has[corev1.ResourcePods]; !ok {
		has[corev1.ResourcePods] = *resource.NewQuantity(defaultPods, resource.DecimalSI)
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{
			Capacity: has, Allocatable: has,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	if p.FailureDomain != "" {
		n.Labels[corev1.LabelTopologyZone] = p.FailureDomain
	}
	maps.Copy(n.Labels, labels)
	maps.Copy(n.Labels, p.NodeLabels)
	maps.Copy(n.Labels, scaling.Labels)
	n.Spec.Taints = append(n.Spec.Taints, taints...)
	for _, t := range p.Taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	n.Spec.Taints = append(n.Spec.Taints, scaling.Taints...)
	return n
}

// NodeGroupGetOptions answers with the autoscaler's own options, but for those
// that annotations of the pool give.
func (s *Server) NodeGroupGetOptions(ctx context.Context, in *externalgrpc.NodeGroupAutoscalingOptionsRequest) (*externalgrpc.NodeGroupAutoscalingOptionsResponse, error) {
	g, err := s.group(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	out, o := in.GetDefaults(), g.pool.Scaling.Options
	if out == nil {
		out = &externalgrpc.NodeGroupAutoscalingOptions{}
	}
	share := func(to *float64, v *float64) {
		if v != nil {
			*to = *v
		}
	}
	during := func(to **durationpb.Duration, old **externalgrpc.LegacyDuration, v *time.Duration) {
		if v != nil {
			*to, *old = durationpb.New(*v), &externalgrpc.LegacyDuration{Duration: v.Nanoseconds()}
		}
	}
	share(&out.ScaleDownUtilizationThreshold, o.UtilizationThreshold)
	share(&out.ScaleDownGpuUtilizationThreshold, o.GPUUtilizationThreshold)
	during(&out.ScaleDownUnneededDuration, &out.ScaleDownUnneededTime, o.UnneededTime)
	during(&out.ScaleDownUnreadyDuration, &out.ScaleDownUnreadyTime, o.UnreadyTime)
	during(&out.MaxNodeProvisionDuration, &out.MaxNodeProvisionTime, o.ProvisionTime)
	return &externalgrpc.NodeGroupAutoscalingOptionsResponse{NodeGroupAutoscalingOptions: out}, nil
}
