package maastest

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (r *Region) list(u *User, f url.Values) (any, error) {
	out := []any{}
	for _, name := range f["owner"] {
		if !slices.ContainsFunc(r.users, func(u *User) bool { return u.Name == name }) {
			return nil, invalid("owner", "No such owner: '%s'.", name)
		}
	}
	if err := r.known(f, "zone", "pool", "tags"); err != nil {
		return nil, err
	}
	any1 := func(key, is string) bool { return !f.Has(key) || slices.Contains(f[key], is) }
	for _, m := range r.database.machines {
		if !u.Admin && m.Owner != "" && m.Owner != u.Name {
			continue // others' machines do not show
		}
		if any1("agent_name", m.Agent) && any1("owner", m.Owner) && any1("id", m.SystemID) && any1("hostname", m.Hostname) &&
			any1("zone", m.Zone) && any1("pool", m.Pool) && any1("status", stateFilter(m.Status)) {
			out = append(out, m.show())
		}
	}
	return out, nil
}

// known refuses constraints that name what is not there.
func (r *Region) known(f url.Values, keys ...string) error {
	for _, key := range keys {
		list := map[string][]string{"zone": r.zones, "pool": r.pools, "tags": r.tags}[key]
		for _, v := range f[key] {
			switch {
			case slices.Contains(list, v):
			case key == "tags":
				return invalid(key, "No such tag(s): '%s'.", v)
			default:
				return invalid(key, "No such %s(s): %s.", key, v)
			}
		}
	}
	return nil
}

// allocate takes the cheapest machine that fits: cpu_count plus memory in GiB.
func (r *Region) allocate(u *User, f url.Values) (any, error) {
	if err := r.known(f, "zone", "pool", "tags"); err != nil {
		return nil, err
	}
	if len(f.Get("agent_name")) > 255 {
		return nil, invalid("agent_name", "Ensure this value has at most 255 characters (it has %d).", len(f.Get("agent_name")))
	}
	var fit []*Machine
	for _, m := range r.database.machines {
		if m.Status == Ready && !m.Locked && fits(m, f) {
			fit = append(fit, m)
		}
	}
	if len(fit) == 0 {
		switch {
		case f.Has("system_id"):
			return nil, conflict("No machine with system ID %s available.", f.Get("system_id"))
		case len(f) == 0:
			return nil, conflict("No machine available.")
		}
		return nil, conflict("No available machine matches constraints: %v (resolved to \"\")", f)
	}
	m := slices.MinFunc(fit, func(a, b *Machine) int { return a.CPU + a.Memory/1024 - b.CPU - b.Memory/1024 })
	if f.Get("dry_run") != "true" {
		r.acquire(m, u, f.Get("agent_name"), f.Get("comment"))
	}
	return m.show(), nil
}

func fits(m *Machine, f url.Values) bool {
	number := func(key string) int { n, _ := strconv.ParseFloat(f.Get(key), 64); return int(n) }
	is := func(key, is string) bool { return !f.Has(key) || f.Get(key) == is }
	disk := 0
	if _, size, ok := strings.Cut(f.Get("storage"), ":"); ok {
		disk, _ = strconv.Atoi(size)
	}
	return m.CPU >= number("cpu_count") && m.Memory >= number("mem") && m.Disk >= disk &&
		is("zone", m.Zone) && is("pool", m.Pool) && is("system_id", m.SystemID) &&
		!slices.ContainsFunc(f["tags"], func(t string) bool { return !slices.Contains(m.Tags, t) }) &&
		!slices.ContainsFunc(f["not_tags"], func(t string) bool { return slices.Contains(m.Tags, t) })
}

func (r *Region) acquire(m *Machine, u *User, agent, comment string) {
	m.Owner, m.Agent = u.Name, agent
	text := "(" + u.Name + ")"
	if comment != "" {
		text += " - " + comment
	}
	r.tell(m, u.Name, "DEBUG", "User acquiring node", text)
	r.goes(m, Allocated)
}

var annotationKey = regexp.MustCompile(`^[\w.-]+$`)

func (r *Region) machine(u *User, id, method, op string, f url.Values) (any, error) {
	m := r.find(id)
	if m == nil {
		return nil, missing("Machine")
	}
	switch {
	case m.Owner != "" && m.Owner != u.Name && !u.Admin:
		return nil, forbidden()
	case method == http.MethodGet && op == "":
		return m.show(), nil
	case method == http.MethodGet && op == "query_power_state":
		if h := r.host(id); h.NoBMC {
			m.Power = "error"
		} else {
			m.Power = map[bool]string{true: "on", false: "off"}[h.On]
		}
		return map[string]string{"state": m.Power}, nil
	case method == http.MethodPut && !u.Admin:
		return nil, forbidden()
	case method == http.MethodPut:
		m.Zone, m.Pool = or(f.Get("zone"), m.Zone), or(f.Get("pool"), m.Pool)
		return m.show(), nil
	case op == "set_workload_annotations" || op == "set_owner_data":
		return r.annotate(m, u, f)
	case op == "unlock" && u.Admin:
		m.Locked = false
		return m.show(), nil
	case m.Locked:
		return nil, forbidden()
	case op == "deploy":
		return r.deploy(m, u, f)
	case op == "release":
		return r.release(m, u, f)
	case op == "power_on" || op == "power_off":
		return r.power(m, u, op == "power_on")
	case op == "lock":
		m.Locked = true
		return m.show(), nil
	case op == "mark_broken":
		m.ErrorText, m.Owner, m.IP = f.Get("comment"), u.Name, ""
		m.then = nil
		r.goes(m, Broken)
		r.switches(m, false)
		return m.show(), nil
	case op == "rescue_mode":
		r.goes(m, RescueMode)
		return m.show(), nil
	case op == "exit_rescue_mode":
		r.goes(m, Deployed)
		return m.show(), nil
	}
	return nil, failure{status: http.StatusBadRequest, body: "Unrecognised signature: method=" + method + " op=" + op}
}

func (r *Region) annotate(m *Machine, u *User, f url.Values) (any, error) {
	if m.Owner != u.Name {
		return nil, conflict("Cannot set workload annotation: it hasn't been acquired.")
	}
	for k := range f {
		if !annotationKey.MatchString(k) && f.Get(k) != "" {
			return nil, failure{status: http.StatusInternalServerError, body: "Invalid character in key name"}
		}
	}
	if m.Annotations == nil {
		m.Annotations = make(map[string]string)
	}
	for k := range f {
		if m.Annotations[k] = f.Get(k); f.Get(k) == "" {
			delete(m.Annotations, k)
		}
	}
	return m.show(), nil
}

// deploy of a machine that is Ready acquires it. Of one that is Allocated it checks no agent name.
func (r *Region) deploy(m *Machine, u *User, f url.Values) (any, error) {
	if m.Status != Ready && m.Status != Allocated {
		return nil, conflict("Can't deploy a machine that is in the '%s' state", stateName(m.Status))
	}
	series := or(f.Get("distro_series"), "ubuntu/jammy")
	if i := slices.IndexFunc(r.images, func(name string) bool { return name == series || strings.HasSuffix(name, "/"+series) }); i >= 0 {
		series = r.images[i]
	} else {
		return nil, invalid("distro_series", "'%s' is not a valid distro_series.  It should be one of: '---', '%s'.", series, strings.Join(r.images, "', '"))
	}
	data, err := base64.StdEncoding.DecodeString(f.Get("user_data"))
	if err != nil {
		return nil, invalid("user_data", "Invalid base64.")
	}
	ip, ok := r.addressOf(m)
	if !ok {
		return nil, failure{status: http.StatusServiceUnavailable, body: "Unable to allocate static IP due to address exhaustion."}
	}
	if m.Status == Ready {
		r.acquire(m, u, f.Get("agent_name"), f.Get("comment"))
	}
	m.OSystem, m.Series, _ = strings.Cut(series, "/")
	m.UserData, m.Ephemeral, m.IP, m.ErrorText = data, f.Get("ephemeral_deploy") == "true", ip, ""
	r.goes(m, Deploying)
	r.switches(m, true)
	m.after(r.times.Deploy, func(m *Machine) {
		h := r.host(m.SystemID)
		if h.BadDisk || !h.On {
			m.ErrorText = "Installation failed: no disk"
			if !h.On {
				m.ErrorText = "Power on failed"
			}
			r.goes(m, FailedDeployment)
			return
		}
		if h.NeverInstalls {
			return
		}
		h.OnDisk, h.Runs = m.UserData, m.UserData
		h.Installs++
		r.moves(m, h)
		r.goes(m, Deployed)
	})
	return m.show(), nil
}

// release forgets the agent name and the system first, the owner and the annotations last. A machine whose
// power does not go off is what it was again, without agent name and system. One of the power type manual is
// Ready at once, and runs on.
func (r *Region) release(m *Machine, u *User, f url.Values) (any, error) {
	switch m.Status {
	case Releasing, Ready:
		return m.show(), nil
	case Allocated, Broken, Deploying, Deployed, FailedDeployment, FailedErasing, FailedReleasing:
	default:
		return nil, conflict("Machine cannot be released in its current state ('%s').", stateName(m.Status))
	}
	m.then = nil
	if f.Get("erase") != "true" {
		r.off(m, u, m.Status)
		return m.show(), nil
	}
	was := m.Status
	r.goes(m, Erasing) // it keeps agent name and system, and boots once more
	if h := r.host(m.SystemID); !h.NoBMC {
		h.Runs = nil
		r.moves(m, h)
	}
	m.after(r.times.Erase, func(m *Machine) {
		h := r.host(m.SystemID)
		if h.NeverErases {
			m.ErrorText = "Failed to erase: no disk"
			r.goes(m, FailedErasing)
			return
		}
		h.OnDisk, h.Runs = nil, nil
		r.moves(m, h)
		r.off(m, u, was)
	})
	return m.show(), nil
}

func (r *Region) off(m *Machine, u *User, was int) {
	m.Agent, m.OSystem, m.Series = "", "", ""
	r.tell(m, u.Name, "INFO", "User releasing node", "")
	r.goes(m, Releasing)
	done := func(m *Machine) {
		m.Owner, m.Annotations, m.IP, m.ErrorText = "", nil, "", ""
		r.goes(m, Ready)
	}
	switch h := r.host(m.SystemID); {
	case m.PowerType == "manual":
		done(m)
	case !h.On && !h.NoBMC && !h.HoldsOff:
		done(m)
	default:
		m.after(r.times.PowerOff, func(m *Machine) {
			if r.switches(m, false); h.NoBMC {
				r.goes(m, was)
				return
			}
			m.after(r.times.PowerOff, func(m *Machine) { r.released(m, done) })
		})
	}
}

// released ends a release, unless the host is held.
func (r *Region) released(m *Machine, done func(*Machine)) {
	if r.host(m.SystemID).HoldsOff {
		m.after(r.times.PowerOff, func(m *Machine) { r.released(m, done) })
		return
	}
	done(m)
}

// power switches a machine. Switching on is a power cycle, as with IPMI.
func (r *Region) power(m *Machine, u *User, on bool) (any, error) {
	switch {
	case m.Owner == "":
		return nil, conflict("Can't start node: it hasn't been allocated.")
	case r.host(m.SystemID).NoBMC:
		return nil, failure{status: http.StatusServiceUnavailable, body: "No rack controllers can access the BMC of node " + m.Hostname}
	}
	m.UserData = nil
	if h := r.host(m.SystemID); on && h.On {
		r.tell(m, u.Name, "INFO", "Node power cycled", "")
	}
	r.switches(m, on)
	return m.show(), nil
}
