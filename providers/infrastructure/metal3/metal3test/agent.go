package metal3test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// heartbeats is how often an agent says that it is there, beside when it has done something.
const heartbeats = 2 * time.Second

// An agent is Ironic's in the ramdisk of a host, from a start of it to its end. The lock of
// the host guards it.
// Source: ironic-python-agent, api/app.py, agent.py; Ironic, drivers/modules/agent_client.py.
type agent struct {
	host        *Host
	ctx         context.Context //nolint:containedctx // of what it is: it ends with the power of its host
	token, node string          // what Ironic told it
	commands    []*command
}

// A command is what Ironic asked an agent for.
type command struct {
	Name   string         `json:"command_name"`
	Params map[string]any `json:"command_params"`
	Status string         `json:"command_status"`
	Error  any            `json:"command_error"`
	Result any            `json:"command_result"`
	made   any            // what a step tells Ironic
}

// run asks Ironic which node it is on, then says time and again that it is there.
func (a *agent) run() {
	tick := time.NewTicker(heartbeats / 4)
	defer tick.Stop()
	for !a.lookUp() {
		select {
		case <-a.ctx.Done():
			return
		case <-tick.C:
		}
	}
	tick.Reset(heartbeats)
	for {
		a.heartbeat()
		select {
		case <-a.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// lookUp reports whether Ironic says which node it is on.
func (a *agent) lookUp() bool {
	var found struct {
		Config struct {
			Token string `json:"agent_token"`
		} `json:"config"`
		Node struct {
			UUID string `json:"uuid"`
		} `json:"node"`
	}
	if a.host.i.ask(a.ctx, http.MethodGet, "/v1/lookup?addresses="+url.QueryEscape(a.host.mac), nil, &found) != nil {
		return false // until a listener is there
	}
	a.host.mu.Lock()
	defer a.host.mu.Unlock()
	a.token, a.node = found.Config.Token, found.Node.UUID
	return a.node != ""
}

func (a *agent) heartbeat() {
	h := a.host
	h.mu.Lock()
	token, node := a.token, a.node
	h.mu.Unlock()
	err := h.i.ask(a.ctx, http.MethodPost, "/v1/heartbeat/"+node, map[string]any{
		"callback_url": h.i.bmcs.URL + agents + "/" + h.name, "agent_version": "9.4.0", "agent_token": token,
	}, nil)
	if err != nil && a.ctx.Err() == nil {
		h.i.say("%s: heartbeat: %v", h.name, err)
	}
}

// answer is what the agent's own API says. The lock is held.
func (a *agent) answer(r *http.Request, body map[string]any) any {
	if r.Method == http.MethodGet {
		return map[string]any{"commands": append([]*command{}, a.commands...)} // never null
	}
	if r.URL.Query().Get("agent_token") != a.token {
		return http.StatusUnauthorized
	}
	name, _ := body["name"].(string)
	params, _ := body["params"].(map[string]any)
	return a.command(name, params)
}

// command does what Ironic asks for. A step runs beside, and a heartbeat tells its end.
func (a *agent) command(name string, params map[string]any) *command {
	short := name[strings.IndexByte(name, '.')+1:] // "clean.get_clean_steps"
	c := &command{Name: short, Params: params, Status: "SUCCEEDED", Result: map[string]any{}}
	a.commands = append(a.commands, c)
	kind := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(short, "get_"), "execute_"), "_steps")
	switch short {
	case "get_clean_steps", "get_deploy_steps", "get_service_steps":
		priority := 0 // only what Ironic asks for by name
		if kind == "clean" {
			priority = 10
		}
		steps := []any{map[string]any{"interface": "deploy", "step": kind + "_disk", "priority": priority, "reboot_requested": false}}
		if kind == "clean" {
			for _, s := range [][2]string{{"deploy", eraseMetadata}, {"raid", createVolumes}, {"raid", deleteVolumes}} {
				steps = append(steps, map[string]any{"interface": s[0], "step": s[1], "priority": 0, "reboot_requested": false})
			}
		}
		if kind == "deploy" {
			steps = append(steps, map[string]any{"interface": "deploy", "step": CustomStep, "priority": 0, "reboot_requested": false})
		}
		c.Result = map[string]any{"hardware_manager_version": map[string]any{"lab": "1"}, kind + "_steps": map[string]any{"lab": steps}}
	case "execute_clean_step":
		step, _ := params["step"].(map[string]any)
		node, _ := params["node"].(map[string]any)
		a.beside(c, AtClean, "clean", func(map[string]any) error { return a.clean(c, step["step"], node) })
	case "execute_deploy_step":
		if step, _ := params["step"].(map[string]any); step["step"] == CustomStep {
			a.beside(c, AtWrite, "deploy", func(map[string]any) error { return a.install(params) })
			break
		}
		a.beside(c, AtWrite, "deploy", a.write)
	case "install_bootloader":
		a.beside(c, AtBootloader, "", func(map[string]any) error { return nil })
	case "power_off":
		a.host.power(false) // the ramdisk does it: the BMC is not asked
		a.host.shown = false
	}
	return c
}

// beside carries out a step.
func (a *agent) beside(c *command, at At, kind string, do func(map[string]any) error) {
	c.Status, c.Result = "RUNNING", nil
	step, _ := c.Params["step"].(map[string]any)
	args, _ := step["args"].(map[string]any)
	a.host.i.done.Go(func() {
		err := a.fail(at)
		if err == nil {
			err = do(args)
		}
		if a.ctx.Err() != nil {
			return // the host is off
		}
		a.host.mu.Lock()
		c.Status, c.Result = "SUCCEEDED", map[string]any{kind + "_result": c.made, kind + "_step": step}
		if err != nil {
			c.Status, c.Error = "FAILED", map[string]any{"type": "AgentError", "code": http.StatusInternalServerError, "message": "Error", "details": err.Error()}
		}
		a.host.mu.Unlock()
		a.heartbeat()
	})
}

// fail is what goes wrong with a step. One that is held goes on when its fault is taken back.
func (a *agent) fail(at At) error {
	f := a.host.i.hostFault(a.host.name, at)
	if f == nil {
		return nil
	}
	if f.Hold {
		select {
		case <-f.ended:
		case <-a.ctx.Done():
		}
		return nil
	}
	if at == AtWrite || at == AtClean {
		a.erase()
	}
	if f.Message != "" {
		return fmt.Errorf("%s", f.Message)
	}
	return fmt.Errorf("device /dev/sda of %s: Input/output error", a.host.name)
}

func (a *agent) erase() {
	a.host.mu.Lock()
	defer a.host.mu.Unlock()
	a.host.disk = nil
}

// Steps of cleaning beside that of the disk.
const (
	eraseMetadata = "erase_devices_metadata"
	createVolumes = "create_configuration"
	deleteVolumes = "delete_configuration"
)

// clean carries out a step. What disks are put together as is the result of c.
func (a *agent) clean(c *command, step any, node map[string]any) error {
	a.erase()
	if step != createVolumes && step != deleteVolumes {
		return nil
	}
	wanted, _ := node["target_raid_config"].(map[string]any)
	h := a.host
	h.mu.Lock()
	defer h.mu.Unlock()
	h.volumes = nil
	if step == createVolumes {
		h.volumes = levels(wanted)
		c.made = made(wanted)
	}
	return nil
}

// made returns what was put together as raid says: the root volume is found by its WWN.
func made(raid map[string]any) map[string]any {
	var out []any
	for n, d := range objects(raid["logical_disks"]) {
		if d = maps.Clone(d); d["is_root_volume"] == true {
			d["root_device_hint"] = map[string]any{"wwn": fmt.Sprintf("0x%016x", n+1)}
		}
		out = append(out, d)
	}
	return map[string]any{"logical_disks": out}
}

// levels returns the RAID levels of volumes.
func levels(raid map[string]any) []string {
	var out []string
	for _, d := range objects(raid["logical_disks"]) {
		level, _ := d["raid_level"].(string)
		out = append(out, level)
	}
	return out
}

// write fetches the image, checks its sum, and keeps it and the config drive.
func (a *agent) write(args map[string]any) error {
	a.erase() // what was there is gone, whatever comes
	var info struct {
		Image struct {
			URLs []string `json:"urls"`
			Sum  string   `json:"os_hash_value"`
		} `json:"image_info"`
		Drive string `json:"configdrive"`
	}
	text, err := json.Marshal(args)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return err
	}
	if len(info.Image.URLs) == 0 {
		return nil // a step of another kind
	}
	from := info.Image.URLs[0]
	if err := a.fetch(from, info.Image.Sum); err != nil {
		return err
	}
	drive, err := a.host.i.unpack(a.ctx, info.Drive)
	if err != nil {
		return fmt.Errorf("config drive: %w", err)
	}
	h := a.host
	h.mu.Lock()
	defer h.mu.Unlock()
	h.written++
	h.disk = &Disk{ID: h.name + "-" + strconv.Itoa(h.written), Image: from, Drive: drive}
	return nil
}

// CustomStep is a deploy step of the ramdisk's own: it installs something, with the config drive of
// the node.
const CustomStep = "install_lab"

// install is CustomStep.
func (a *agent) install(params map[string]any) error {
	node, _ := params["node"].(map[string]any)
	info, _ := node["instance_info"].(map[string]any)
	drive, _ := info["configdrive"].(map[string]any)
	h := a.host
	h.mu.Lock()
	defer h.mu.Unlock()
	h.install(CustomStep, drive)
	return nil
}

// install puts something on the disk of h, with a config drive as Ironic's API has it. The lock is
// held.
func (h *Host) install(image string, drive map[string]any) {
	h.written++
	h.disk = &Disk{ID: h.name + "-" + strconv.Itoa(h.written), Image: image, Drive: filesOf(drive)}
}

// filesOf returns the files that a config drive of Ironic's API becomes.
func filesOf(drive map[string]any) map[string]string {
	out := make(map[string]string)
	for key, file := range map[string]string{"user_data": "user_data", "meta_data": "meta_data.json", "network_data": "network_data.json"} {
		switch v := drive[key].(type) {
		case nil:
		case string:
			out[file] = v
		default:
			text, _ := json.Marshal(v) // it was JSON
			out[file] = string(text)
		}
	}
	return out
}

// fetch reads an image and compares its sum.
func (a *agent) fetch(from, want string) error {
	r, err := http.NewRequestWithContext(a.ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, resp.Body); err != nil {
		return err
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)); resp.StatusCode != http.StatusOK || got != want {
		return fmt.Errorf("image %s: %s, its checksum is %s and not %s", from, resp.Status, got, want)
	}
	return nil
}

// unpack returns the files of a config drive, as Ironic packs it: ISO 9660, gzip, base64.
func (i *Ironic) unpack(ctx context.Context, packed string) (map[string]string, error) {
	if packed == "" {
		return nil, nil
	}
	b, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	iso, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return i.unpackISO(ctx, iso)
}

// unpackISO returns the files of a config drive.
func (i *Ironic) unpackISO(ctx context.Context, iso []byte) (map[string]string, error) {
	dir, err := os.MkdirTemp(i.dir, "drive-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	at := filepath.Join(dir, "iso")
	if err := os.WriteFile(at, iso, 0o600); err != nil {
		return nil, err
	}
	list, err := exec.CommandContext(ctx, "isoinfo", "-R", "-f", "-i", at).Output()
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for name := range strings.FieldsSeq(string(list)) {
		if !strings.HasPrefix(name, "/openstack/latest/") { // older versions of the same
			continue
		}
		text, err := exec.CommandContext(ctx, "isoinfo", "-R", "-i", at, "-x", name).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[path.Base(name)] = string(text)
	}
	return files, nil
}
