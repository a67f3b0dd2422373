package aws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// inGivenVPC runs f on a cluster in a given VPC with a security group of people. withInterfaces is a pool of workers with network
// interfaces.
func inGivenVPC(t *testing.T, f func(w *world, private []string, theirs string, withInterfaces func(ids ...string) fleet.Pool)) {
	t.Helper()
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		vpc, _, private := w.cloud.AddVPC("10.7.0.0/16")
		theirs := w.cloud.AddGroup(vpc, "people")
		w.cluster.Infrastructure = object(w, "AWSCluster", "eu-1", strings.Replace(clusterSpec, "{region", "{network: {vpc: {id: "+vpc+"}}, region", 1))
		time.Sleep(2 * tick)
		w.settle()
		f(w, private, theirs, func(ids ...string) fleet.Pool {
			p := w.cluster.Workers[0]
			p.Infrastructure = object(w, "AWSMachineTemplate", "nodes", strings.Replace(machineSpec, "{", "{networkInterfaces: ["+strings.Join(ids, ", ")+"], ", 1))
			return p
		})
	})
}

// TestNetworkInterfaces: a machine has the network interfaces that Git gives it, in their order, and in its security groups beside
// those of people. They stay when it goes, and when the cluster goes.
func TestNetworkInterfaces(t *testing.T) {
	inGivenVPC(t, func(w *world, private []string, theirs string, withInterfaces func(ids ...string) fleet.Pool) {
		second, first := w.cloud.AddNetworkInterface(private[1], theirs), w.cloud.AddNetworkInterface(private[1], theirs)
		time.Sleep(2 * tick)
		pool := withInterfaces(first, second)
		end := w.cloud.Inject(awstest.Fault{Action: "RunInstances", Times: 1, Cut: awstest.After})
		wantKind(w, "an answer that is lost", w.create("m-0", pool, ""), fleet.Unanswered)
		end()
		wantKind(w, "an instance that does not show yet", w.create("m-0", pool, ""), fleet.Unavailable, "is still attached to instance")
		time.Sleep(2 * tick)
		w.mustCreate("m-0", pool, "")
		all := w.instances()
		if len(all) != 1 || all["m-0"].Attr["zone"] != "eu-central-1b" {
			w.Errorf("the instances are %v", all)
		}
		nodes := w.groupOf("node")
		for i, id := range []string{first, second} {
			x, _ := w.cloud.Thing(id)
			if x.Attr["instanceId"] != all["m-0"].ID || x.Attr["device"] != fmt.Sprint(i) {
				w.Errorf("interface %d is %v", i, x.Attr)
			}
			if g := x.Sets["groups"]; len(g) != 3 || g[0] != theirs || !slices.Contains(g, nodes) {
				w.Errorf("interface %d is in %v", i, g)
			}
			if len(x.Tags) > 0 {
				w.Errorf("interface %d has tags %v", i, x.Tags)
			}
		}
		wantKind(w, "a second machine", w.create("m-1", pool, ""), fleet.Conflict, first, all["m-0"].ID, "maxSurge: 0")
		found, err := w.provider.Check(w.Context(), []*fleet.Cluster{with(w.cluster, pool)})
		if err != nil {
			w.Fatal(err)
		}
		for _, f := range found {
			if f.Err != nil {
				w.Errorf("check: %v", f.Err)
			}
		}
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, "m-0", ""); err != nil {
			w.Fatal(err)
		}
		wantKind(w, "a machine that goes", w.create("m-1", pool, ""), fleet.Unavailable, "is still attached")
		time.Sleep(settle)
		w.cloud.Forget()
		w.mustCreate("m-1", pool, "")
		if n := w.called("ModifyNetworkInterfaceAttribute"); n > 0 {
			w.Errorf("interfaces that are in the groups were changed %d times", n)
		}
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, "m-1", ""); err != nil {
			w.Fatal(err)
		}
		w.cluster.Delete = true
		w.cloud.Forget()
		for range 20 {
			time.Sleep(settle)
			if !w.observe().Exists {
				break
			}
			_ = w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster) // what it waits for, the next look tells
		}
		if got := w.observe(); got.Exists {
			w.Errorf("it stays: %s", got.Message)
		}
		if n := w.called("ModifyNetworkInterfaceAttribute"); n != 2 {
			w.Errorf("interfaces were changed %d times", n)
		}
		for _, id := range []string{first, second} {
			if x, ok := w.cloud.Thing(id); !ok || !slices.Equal(x.Sets["groups"], []string{theirs}) {
				w.Errorf("what is left of an interface is %v", x)
			}
		}
	})
}

// with returns c with one pool of workers.
func with(c fleet.Cluster, p fleet.Pool) *fleet.Cluster {
	c.Workers = []fleet.Pool{p}
	return &c
}

// groupOf returns the id of the security group of a role.
func (w *world) groupOf(role string) string {
	for _, g := range w.cloud.Things(awstest.Groups) {
		if g.Tags["fairlead.dev/part"] == "group-"+role {
			return g.ID
		}
	}
	return ""
}

// TestNetworkInterfacesOfOthers: an interface that is not there, is elsewhere or is of another instance is refused by its
// name, and nothing of it is changed.
func TestNetworkInterfacesOfOthers(t *testing.T) {
	inGivenVPC(t, func(w *world, private []string, theirs string, withInterfaces func(ids ...string) fleet.Pool) {
		_, _, other := w.cloud.AddVPC("10.8.0.0/16")
		a, b, far := w.cloud.AddNetworkInterface(private[0], theirs), w.cloud.AddNetworkInterface(private[1], theirs), w.cloud.AddNetworkInterface(other[0])
		used, foreign := w.cloud.AddNetworkInterface(private[0], theirs), w.cloud.AddInstance("theirs")
		w.cloud.Edit(used, func(x *awstest.Thing) { x.Attr["instanceId"] = foreign })
		w.cloud.Edit(foreign, func(i *awstest.Thing) {
			i.Tags["fairlead.dev/fleet"], i.Tags["fairlead.dev/cluster"], i.Tags["fairlead.dev/machine"] = "fleet-a", "prod/us-1", "m-0"
		})
		full := w.cloud.AddNetworkInterface(private[0], theirs, theirs, theirs, theirs)
		time.Sleep(2 * tick)
		for name, tc := range map[string]struct {
			pool   fleet.Pool
			domain string
			kind   fleet.ErrorKind
			say    string
		}{
			"missing":               {withInterfaces("eni-missing"), "", fleet.Invalid, "there is no network interface eni-missing"},
			"of another VPC":        {withInterfaces(far), "", fleet.Invalid, "and the cluster is in"},
			"of two zones":          {withInterfaces(a, b), "", fleet.Invalid, "name two of one zone"},
			"of another instance":   {withInterfaces(used), "", fleet.Conflict, "is attached to instance " + foreign},
			"in too many groups":    {withInterfaces(full), "", fleet.Exhausted, "security groups per interface"},
			"of another zone":       {withInterfaces(a), "eu-central-1c", fleet.Invalid, "failure domain eu-central-1c"},
			"second is of somebody": {withInterfaces(a, used), "", fleet.Conflict, used},
		} {
			w.cloud.Forget()
			wantKind(w, name, w.create("m-0", tc.pool, tc.domain), tc.kind, tc.say)
			for _, c := range w.cloud.Calls() {
				if c.Changes() && name != "in too many groups" {
					w.Errorf("%s: %s was called", name, c.Action)
				}
			}
		}
	})
}

// called returns how often an action was called.
func (w *world) called(action string) (n int) {
	for _, c := range w.cloud.Calls() {
		if c.Action == action {
			n++
		}
	}
	return n
}

// TestInterfacesThatStay: of a cluster that goes, interfaces of load balancers, of instances and of people are not changed.
func TestInterfacesThatStay(t *testing.T) {
	inBubble(t, clusterSpec, machineSpec, func(w *world) {
		w.settle()
		vpc := w.cloud.Things(awstest.VPCs)[0].ID
		var private string
		for _, s := range w.cloud.Things(awstest.Subnets) {
			if s.Tags["fairlead.dev/part"] == "private" {
				private = s.ID
			}
		}
		theirs := w.cloud.AddGroup(vpc, "people")
		for _, x := range w.cloud.Things(awstest.Interfaces) {
			if strings.HasPrefix(x.Attr["description"], "ELB ") {
				w.cloud.Edit(x.ID, func(x *awstest.Thing) { x.Sets["groups"] = append(x.Sets["groups"], theirs) })
			}
		}
		w.cloud.AddNetworkInterface(private, theirs)
		used := w.cloud.AddNetworkInterface(private, theirs, w.groupOf("node"))
		foreign := w.cloud.AddInstance("theirs")
		w.cloud.Edit(used, func(x *awstest.Thing) { x.Attr["instanceId"] = foreign })
		w.cluster.Delete = true
		for range 10 {
			time.Sleep(settle)
			_ = w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster) // what it waits for, the next look tells
		}
		if n := w.called("ModifyNetworkInterfaceAttribute"); n > 0 {
			w.Errorf("interfaces were changed %d times", n)
		}
		if got := w.observe(); !strings.Contains(got.Message, used+" (of instance "+foreign+")") {
			w.Errorf("the cluster says %q", got.Message)
		}
	})
}

// TestNetworkInterfaceInOurGroupsAlone: an interface of people that would be in no security group keeps a cluster, which says so.
func TestNetworkInterfaceInOurGroupsAlone(t *testing.T) {
	inGivenVPC(t, func(w *world, private []string, theirs string, _ func(ids ...string) fleet.Pool) {
		id := w.cloud.AddNetworkInterface(private[0], w.groupOf("node"))
		time.Sleep(2 * tick)
		w.cluster.Delete = true
		for range 5 {
			_ = w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster) // what it waits for, the next look tells
			time.Sleep(settle)
		}
		if n := w.called("ModifyNetworkInterfaceAttribute"); n > 0 {
			w.Errorf("it was changed %d times", n)
		}
		if got := w.observe(); !strings.Contains(got.Message, "network interfaces are still in use: "+id) {
			w.Errorf("the cluster says %q", got.Message)
		}
		w.cloud.Edit(id, func(x *awstest.Thing) { x.Sets["groups"] = []string{theirs} })
		for range 5 {
			_ = w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster)
			time.Sleep(settle)
		}
		if got := w.observe(); got.Exists {
			w.Errorf("it stays: %s", got.Message)
		}
	})
}
