package autoscaler

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/agent/autoscaler/externalgrpc"
)

// defaultPods is how many pods a kubelet takes that nobody told otherwise.
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
	b, err := g.node().Marshal()
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &externalgrpc.NodeGroupTemplateNodeInfoResponse{NodeInfo: b, NodeBytes: b}, nil
}

// node returns a Node as a new machine of g will have it.
func (g group) node() *corev1.Node {
	p, s := g.pool, g.pool.Scaling
	name := string(p.Name) + "-template"
	has := maps.Clone(s.Capacity)
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
	var join bootstrapv1.NodeRegistrationOptions
	_ = json.Unmarshal(p.Bootstrap.Field("joinConfiguration", "nodeRegistration"), &join) // none says nothing
	for _, arg := range join.KubeletExtraArgs {
		if arg.Name != "node-labels" || arg.Value == nil {
			continue
		}
		for part := range strings.SplitSeq(*arg.Value, ",") {
			if key, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok {
				n.Labels[key] = value
			}
		}
	}
	maps.Copy(n.Labels, p.NodeLabels)
	maps.Copy(n.Labels, s.Labels)
	if join.Taints != nil {
		n.Spec.Taints = append(n.Spec.Taints, *join.Taints...)
	}
	for _, t := range p.Taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	n.Spec.Taints = append(n.Spec.Taints, s.Taints...)
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
