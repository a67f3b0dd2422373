package cloud

import (
	"context"
	"net/http"
	"time"
)

// A Scaling bounds the number of machines of a node group.
type Scaling struct {
	Min     *int `json:"minSize,omitempty"`
	Max     *int `json:"maxSize,omitempty"`
	Desired *int `json:"desiredSize,omitempty"`
}

// A NodeTaint is one of the Nodes of a node group.
type NodeTaint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// A NodeUpdate bounds how many machines of a node group are replaced at one time.
type NodeUpdate struct {
	Unavailable *int `json:"maxUnavailable,omitempty"`
	Percentage  *int `json:"maxUnavailablePercentage,omitempty"`
}

// A NodeRepair has EKS replace machines whose Nodes are unhealthy.
type NodeRepair struct {
	Enabled bool `json:"enabled"`
}

// RemoteAccess lets people into machines.
type RemoteAccess struct {
	Key    string   `json:"ec2SshKey,omitempty"`
	Groups []string `json:"sourceSecurityGroups,omitempty"`
}

// A Nodegroup is a managed node group.
type Nodegroup struct {
	Name     string         `json:"nodegroupName"`
	ARN      string         `json:"nodegroupArn,omitempty"`
	Cluster  string         `json:"clusterName,omitempty"`
	Version  string         `json:"version,omitempty"`        // 1.34
	Release  string         `json:"releaseVersion,omitempty"` // of its image: 1.34.1-20261101
	Made     float64        `json:"createdAt,omitempty"`
	Status   string         `json:"status,omitempty"`
	Market   string         `json:"capacityType,omitempty"`
	Scaling  Scaling        `json:"scalingConfig"`
	Types    []string       `json:"instanceTypes,omitempty"`
	Subnets  []string       `json:"subnets,omitempty"`
	Remote   *RemoteAccess  `json:"remoteAccess,omitempty"`
	Image    string         `json:"amiType,omitempty"`
	Role     string         `json:"nodeRole,omitempty"`
	Labels   Tags           `json:"labels,omitempty"`
	Taints   []NodeTaint    `json:"taints,omitempty"`
	Health   *ManagedHealth `json:"health,omitempty"`
	Update   *NodeUpdate    `json:"updateConfig,omitempty"`
	Repair   *NodeRepair    `json:"nodeRepairConfig,omitempty"`
	DiskSize int32          `json:"diskSize,omitempty"`
	Template *TemplateRef   `json:"launchTemplate,omitempty"`
	Tags     Tags           `json:"tags,omitempty"`
}

// Created returns when the node group was made.
func (n *Nodegroup) Created() time.Time {
	if n.Made == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n.Made * 1000)).UTC()
}

// Nodegroups returns the names of the node groups of a cluster.
func (c *Client) Nodegroups(ctx context.Context, cluster string) ([]string, error) {
	var page struct{ Nodegroups []string }
	return c.pages(ctx, "ListNodegroups", clusterPath(cluster, "node-groups"), func() []string { return page.Nodegroups }, &page)
}

// Nodegroup returns a node group.
func (c *Client) Nodegroup(ctx context.Context, cluster, name string) (*Nodegroup, error) {
	var got struct{ Nodegroup Nodegroup }
	err := c.rest(ctx, eks, "DescribeNodegroup", http.MethodGet, clusterPath(cluster, "node-groups", name), nil, &got)
	if err == nil && got.Nodegroup.Name == "" {
		err = unread(eks, "DescribeNodegroup", "it has no node group")
	}
	return &got.Nodegroup, err
}

// CreateNodegroup asks for a node group. Its name is alone in the cluster.
func (c *Client) CreateNodegroup(ctx context.Context, cluster string, n Nodegroup) error {
	return c.rest(ctx, eks, "CreateNodegroup", http.MethodPost, clusterPath(cluster, "node-groups"), n, nil)
}

// A NodegroupUpdate is one change of a node group.
type NodegroupUpdate struct {
	Labels struct {
		Set    Tags     `json:"addOrUpdateLabels,omitempty"`
		Remove []string `json:"removeLabels,omitempty"`
	} `json:"labels,omitzero"`
	Taints struct {
		Set    []NodeTaint `json:"addOrUpdateTaints,omitempty"`
		Remove []NodeTaint `json:"removeTaints,omitempty"`
	} `json:"taints,omitzero"`
	Scaling *Scaling    `json:"scalingConfig,omitempty"`
	Update  *NodeUpdate `json:"updateConfig,omitempty"`
	Repair  *NodeRepair `json:"nodeRepairConfig,omitempty"`
}

// UpdateNodegroup changes a node group.
func (c *Client) UpdateNodegroup(ctx context.Context, cluster, name string, u NodegroupUpdate) error {
	return c.rest(ctx, eks, "UpdateNodegroupConfig", http.MethodPost, clusterPath(cluster, "node-groups", name, "update-config"), u, nil)
}

// A NodegroupUpgrade is what machines of a node group are replaced for: another version, another image of it, or another version of
// the launch template.
type NodegroupUpgrade struct {
	Version  string       `json:"version,omitempty"`
	Release  string       `json:"releaseVersion,omitempty"`
	Template *TemplateRef `json:"launchTemplate,omitempty"`
}

// UpgradeNodegroup has the machines of a node group replaced by those of u.
func (c *Client) UpgradeNodegroup(ctx context.Context, cluster, name string, u NodegroupUpgrade) error {
	return c.rest(ctx, eks, "UpdateNodegroupVersion", http.MethodPost, clusterPath(cluster, "node-groups", name, "update-version"), u, nil)
}

// DeleteNodegroup deletes a node group with its machines.
func (c *Client) DeleteNodegroup(ctx context.Context, cluster, name string) error {
	return gone(c.rest(ctx, eks, "DeleteNodegroup", http.MethodDelete, clusterPath(cluster, "node-groups", name), nil, nil))
}

// NodesOf returns the instances of the node groups of a cluster, by the names of these.
func (c *Client) NodesOf(ctx context.Context, cluster string) (map[string][]Instance, error) {
	all, err := c.instances(ctx, filter("tag:"+clusterOfNode, cluster))
	if err != nil {
		return nil, err
	}
	out := make(map[string][]Instance)
	for _, i := range all {
		if !i.Ended() && i.State != "shutting-down" {
			out[i.Tags[groupOfNode]] = append(out[i.Tags[groupOfNode]], i)
		}
	}
	return out, nil
}

// The tags that EKS gives instances of a node group.
// Source: EKS user guide, "Tag your Amazon EKS resources".
const (
	clusterOfNode = "eks:cluster-name"
	groupOfNode   = "eks:nodegroup-name"
)
