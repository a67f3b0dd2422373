package rancher

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// serviceLB is a component that servers have to agree on, unlike others that are disabled.
const serviceLB = "servicelb"

// disabledServiceLB is what Made.Flags calls it: part of the list of the flag "disable".
const disabledServiceLB = "disable=" + serviceLB

// defaults are those of flags that servers have to agree on, of both programs.
// Source: K3s, pkg/cli/server.
func defaults() map[string]string {
	return map[string]string{"cluster-cidr": "10.42.0.0/16", "service-cidr": "10.43.0.0/16", "cluster-domain": "cluster.local"}
}

// observeMade tells what w was made with: servers write their flags to their Nodes, and none
// joins with others than those before it, so that the oldest Node tells.
func (d Distribution) observeMade(w *fleet.Workload) {
	w.Made = nil
	var oldest *fleet.Node
	var told []string
	for i := range w.Nodes {
		n := &w.Nodes[i]
		var args []string
		text := n.Annotations[d.program.Name+".io/node-args"]
		if !n.ControlPlane || json.Unmarshal([]byte(text), &args) != nil || len(args) == 0 || args[0] != "server" {
			continue
		}
		if oldest == nil || n.Created.Before(oldest.Created) || n.Created.Equal(oldest.Created) && n.Name < oldest.Name {
			oldest, told = n, args
		}
	}
	if oldest == nil {
		return
	}
	flags := make(map[string]string)
	for _, flag := range d.program.Agreed {
		flags[flag] = agreed(flag, argsOf(told, flag))
	}
	w.Made = &fleet.Made{
		Networking: fleet.Networking{PodSubnet: flags["cluster-cidr"], ServiceSubnet: flags["service-cidr"], DNSDomain: flags["cluster-domain"]},
		Membership: fleet.MembershipPerMachine, Flags: flags,
	}
}

// argsOf returns the values of a flag in the arguments of a server.
func argsOf(args []string, flag string) []string {
	name, _, _ := strings.Cut(flag, "=")
	var out []string
	for i, a := range args {
		if a == "--"+name && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			out = append(out, strings.Split(args[i+1], ",")...)
		} else if a == "--"+name {
			out = append(out, "true")
		}
	}
	return out
}

// agreed returns the values of a flag as servers compare them.
func agreed(flag string, values []string) string {
	if flag == disabledServiceLB {
		if slices.Contains(values, serviceLB) {
			return "true"
		}
		return ""
	}
	text := strings.Join(values, ",")
	switch {
	case text == "false":
		return ""
	case text == "":
		return defaults()[flag]
	}
	return text
}

// configured returns the values of a flag in config.yaml.
func configured(config map[string]any, flag string) []string {
	name, _, _ := strings.Cut(flag, "=")
	switch v := config[name].(type) {
	case string:
		if v != "" {
			return strings.Split(v, ",")
		}
	case []string:
		return v
	case bool:
		if v {
			return []string{"true"}
		}
	}
	return nil
}

// keep has config agree with the servers that are there, wherever it does not: a server with
// another value of one of these flags ends.
func (d Distribution) keep(config map[string]any, made *fleet.Made) {
	if made == nil {
		return
	}
	for flag, was := range made.Flags {
		if agreed(flag, configured(config, flag)) == was {
			continue
		}
		switch list, _ := config["disable"].([]string); {
		case flag == disabledServiceLB && was == "":
			config["disable"] = slices.DeleteFunc(slices.Clone(list), func(one string) bool { return one == serviceLB })
		case flag == disabledServiceLB:
			config["disable"] = append(slices.Clone(list), serviceLB)
		case was == "true" || was == "":
			config[flag] = was == "true"
		default:
			config[flag] = was
		}
	}
}

// Steps implements providers.Distribution. What servers have to agree on is as the first was
// made, whatever Git says later, and what they were asked to do is withdrawn once it is not
// planned any more.
func (d Distribution) Steps(c *fleet.Cluster, w *fleet.Workload) []fleet.Step {
	out := d.withdrawals(w)
	if w.Made == nil || len(w.Made.Flags) == 0 {
		return out
	}
	flags := d.Flags(c)
	for _, flag := range slices.Sorted(maps.Keys(w.Made.Flags)) {
		was, wanted := w.Made.Flags[flag], flags[flag]
		if flags == nil || was == wanted {
			continue
		}
		out = append(out, fleet.Step{Name: "Keep " + flag, When: fleet.Never, Reason: fmt.Sprintf(
			"%s of servers is %s in Git, and the cluster was made with %s, which stays: all servers have to agree on it. Put it back, or make a new cluster",
			flag, orNothing(wanted), orNothing(was))})
	}
	return out
}

// Flags returns the flags of servers of c that all servers have to agree on, as Git has them.
// They are nil if Git alone does not tell.
func (d Distribution) Flags(c *fleet.Cluster) map[string]string {
	m, err := d.program.Machine(providers.BootstrapInput{Cluster: c, Pool: c.ControlPlane, Join: fleet.JoinControlPlane})
	if err != nil || d.configuredByFiles(m) {
		return nil
	}
	out := make(map[string]string, len(d.program.Agreed))
	for _, flag := range d.program.Agreed {
		out[flag] = agreed(flag, configured(m.Config, flag))
	}
	return out
}

// configuredByFiles reports whether files of people may configure the program too, so that
// what config.yaml says is not all.
func (d Distribution) configuredByFiles(m Machine) bool {
	return slices.ContainsFunc(m.Files, func(f File) bool { return strings.HasPrefix(f.Path, d.configFile()) })
}

func orNothing(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}
