package ironic

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"fairlead.dev/fleet"
)

// A State is where a node is in its life.
type State string

// The states of nodes.
// Source: Ironic, common/states.py.
const (
	Enroll        State = "enroll"
	Verifying     State = "verifying"
	Manageable    State = "manageable"
	Available     State = "available"
	Inspecting    State = "inspecting"
	InspectWait   State = "inspect wait"
	InspectFailed State = "inspect failed"
	Deploying     State = "deploying"
	DeployWait    State = "wait call-back"
	DeployHold    State = "deploy hold"
	DeployFailed  State = "deploy failed"
	Active        State = "active"
	Adopting      State = "adopting"
	AdoptFailed   State = "adopt failed"
	Deleting      State = "deleting"
	Error         State = "error" // a release that failed
	Cleaning      State = "cleaning"
	CleanWait     State = "clean wait"
	CleanHold     State = "clean hold"
	CleanFailed   State = "clean failed"
	Servicing     State = "servicing"
	ServiceWait   State = "service wait"
	ServiceHold   State = "service hold"
	ServiceFailed State = "service failed"

	Rescue         State = "rescue"
	Rescuing       State = "rescuing"
	RescueWait     State = "rescue wait"
	RescueFailed   State = "rescue failed"
	Unrescuing     State = "unrescuing"
	UnrescueFailed State = "unrescue failed"
)

// A Power is what a BMC says of its host.
type Power string

// The properties of hosts. Ironic writes null for unknown ones.
const (
	PowerUnknown Power = ""
	PowerOn      Power = "power on"
	PowerOff     Power = "power off"
)

// What Ironic calls a fault of a node that it put into maintenance by itself.
const (
	PowerFault = "power failure" // the BMC does not answer; it heals by itself
	CleanFault = "clean failure"
	// ServiceFault is also of a service that was aborted.
	ServiceFault = "service failure"
)

// Serviced reports whether a node is being serviced, or failed to be: it is its machine's all the time.
func (n *Node) Serviced() bool {
	return n.State == Servicing || n.State == ServiceWait || n.State == ServiceHold || n.State == ServiceFailed
}

// Rescued reports whether people rescue a node: its machine is on its disk, and they end it.
func (n *Node) Rescued() bool {
	switch n.State {
	case Rescue, Rescuing, RescueWait, RescueFailed, Unrescuing, UnrescueFailed:
		return true
	}
	return false
}

// A Node is a host as Ironic has it.
type Node struct {
	UUID, Name        string
	Driver            string
	State, Target     State // Target is where Ironic takes it; empty: nowhere
	Power             Power
	PowerTarget       string // empty: power does not change
	Maintenance       bool
	MaintenanceReason string
	Fault             string // why Ironic put it into maintenance; empty: people did, or it is in none
	LastError         string
	Locked            bool   // something is under way at it
	Instance          string // the machine that has the node; empty: none
	Info              map[string]any
	HasDrive          bool // Info has a config drive, which Ironic does not show
	Extra             map[string]any
	Properties        map[string]any
	DriverInfo        map[string]any // passwords are masked
	Boot              string         // its boot interface: "ipxe", "redfish-virtual-media"
	Deploy            string         // its deploy interface: "direct", "ramdisk", "custom-agent"
	AutomatedClean    *bool
	Protected         bool
	Retired           bool
	Inspected         time.Time // when it was found out what the host is made of; zero: never
	Updated           time.Time // when State changed; zero: never
	Created           time.Time // when it was enrolled
}

// fields are requested of every node.
const fields = "uuid,name,driver,provision_state,target_provision_state,power_state,target_power_state,maintenance,maintenance_reason,fault," +
	"last_error,reservation,instance_uuid,instance_info,extra,properties,driver_info,boot_interface,deploy_interface,automated_clean,protected,retired,inspection_finished_at,provision_updated_at"

// What reading gives for what Ironic does not show.
// Source: Ironic, api/controllers/v1/node.py, node_sanitize.
const mask = "******"

// DriveKey is the key of instance_info that has the config drive, as JSON of what Deploy takes
// or as a volume. A deployment that is given none takes that one.
// Source: Ironic, conductor/utils.py, get_configdrive_image.
const DriveKey = "configdrive"

// node returns w as this package has it. Masks are left out of instance_info: a caller that wrote
// one back would write it over what it stands for.
func node(w *nodes.Node) Node {
	info := maps.Clone(w.InstanceInfo)
	_, has := info[DriveKey]
	maps.DeleteFunc(info, func(_ string, v any) bool { return v == mask })
	return Node{
		UUID: w.UUID, Name: w.Name, Driver: w.Driver, State: State(w.ProvisionState), Target: State(w.TargetProvisionState),
		Power: Power(w.PowerState), PowerTarget: w.TargetPowerState,
		Maintenance: w.Maintenance, MaintenanceReason: w.MaintenanceReason, Fault: w.Fault, LastError: w.LastError, Locked: w.Reservation != "",
		Instance: w.InstanceUUID, Info: info, HasDrive: has, Extra: w.Extra, Properties: w.Properties, DriverInfo: w.DriverInfo, Boot: w.BootInterface, Deploy: w.DeployInterface, AutomatedClean: w.AutomatedClean,
		Protected: w.Protected, Retired: w.Retired, Inspected: deref(w.InspectionFinishedAt), Updated: w.ProvisionUpdatedAt, Created: w.CreatedAt,
	}
}

func deref(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// extract reads the node of an answer.
func extract(r interface{ Extract() (*nodes.Node, error) }) (Node, error) {
	n, err := r.Extract()
	if err != nil {
		return Node{}, err
	}
	return node(n), nil
}

// Node returns the node of a name or UUID; one that is not there gives the kind NotFound.
func (c *Client) Node(ctx context.Context, name string) (Node, error) {
	n, err := extract(nodes.Get(ctx, c.service, name))
	return n, WrapLook("look at host "+name, err)
}

// mostPages is more than the listing of an Ironic has.
const mostPages = 200

// List returns all nodes of Ironic, each once, or an error. A node that comes again is not what
// Ironic sends: what stands before it may answer every page alike, and the listing would have no end.
func (c *Client) List(ctx context.Context) ([]Node, error) {
	const op = "list hosts"
	var out []Node
	listed := make(map[string]bool)
	marker := ""
	for range mostPages {
		p, err := c.page(ctx, marker, pageSize)
		if err != nil {
			err = WrapLook(op, err)
			if fleet.KindOf(err) == fleet.NotFound { // the node that a page ended with went since: nothing is known
				return nil, fleet.Errorf(fleet.Unavailable, op, "%w", errors.Unwrap(err))
			}
			return nil, err
		}
		for i := range p.nodes {
			id := p.nodes[i].UUID
			if listed[id] {
				return nil, fleet.Errorf(fleet.Unavailable, op, "node %s comes twice (see whether what stands before Ironic keeps its answers, or leaves out the query)", id)
			}
			listed[id] = true
			out = append(out, node(&p.nodes[i]))
		}
		if !p.more {
			return out, nil
		}
		marker = p.nodes[len(p.nodes)-1].UUID
	}
	return nil, fleet.Errorf(fleet.Unavailable, op, "it did not end after %d pages (see what stands before Ironic)", mostPages)
}

// page is a part of a listing.
type page struct {
	nodes []nodes.Node
	more  bool // it is not the last one; it has nodes then
}

// page asks for the nodes after marker. It follows no link: gophercloud's pager looks for one
// where Ironic has none, and takes the first page for all; and Ironic's own may lead around
// the proxy before it, where the account would go, too.
func (c *Client) page(ctx context.Context, marker string, limit int) (page, error) {
	query, err := nodes.ListOpts{Fields: strings.Split(fields, ","), Limit: limit, Marker: marker}.ToNodeListQuery()
	if err != nil {
		return page{}, err
	}
	var body struct {
		Nodes []nodes.Node `json:"nodes"`
		Next  string       `json:"next"`
	}
	if _, err := c.service.Get(ctx, c.service.ServiceURL("nodes")+query, &body, nil); err != nil { //nolint:bodyclose // gophercloud closes what it decodes
		return page{}, err
	}
	if body.Nodes == nil || body.Next != "" && len(body.Nodes) == 0 {
		return page{}, errNoList
	}
	return page{nodes: body.Nodes, more: body.Next != ""}, nil
}
