package metal3test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"path/filepath"
	"strings"
)

// Where things are on the server of the hosts.
const (
	root      = "/redfish/v1"
	systems   = root + "/Systems"
	agents    = "/agents"
	imagePath = "/image.raw"
	imageText = "an image\n"
	ramdisk   = "/agent.iso"
	liveImage = "/live.iso"
	published = "/published" // what Ironic makes for virtual drives
	targetCD  = "Cd"
)

// ImageURL is an image that can be deployed, of the format raw.
func (i *Ironic) ImageURL() string { return i.bmcs.URL + imagePath }

// ImageSHA256 is its checksum.
func (i *Ironic) ImageSHA256() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(imageText))) }

// RamdiskURL is the image that hosts start their agent from.
func (i *Ironic) RamdiskURL() string { return i.bmcs.URL + ramdisk }

// LiveURL is an image that hosts can run from their virtual drive.
func (i *Ironic) LiveURL() string { return i.bmcs.URL + liveImage }

// answerHosts is what BMCs and agents say, and the server that has images.
func (i *Ironic) answerHosts(w http.ResponseWriter, r *http.Request) {
	switch at := strings.TrimSuffix(r.URL.Path, "/"); at {
	case imagePath, ramdisk, liveImage:
		_, _ = io.WriteString(w, imageText) // who asked may be gone
	case root:
		write(w, map[string]any{
			"Id": "root", "Name": "lab", "RedfishVersion": "1.5.0", "Systems": link(systems), "Managers": link(root + "/Managers"),
		})
	default:
		if strings.HasPrefix(at, published+"/") {
			http.StripPrefix(published, http.FileServer(http.Dir(filepath.Join(i.dir, publishedDir)))).ServeHTTP(w, r)
			return
		}
		i.answerHost(w, r, at)
	}
}

// answerHost is what belongs to one host: /redfish/v1/Systems/NAME/..., /agents/NAME/...
func (i *Ironic) answerHost(w http.ResponseWriter, r *http.Request, at string) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil && r.ContentLength > 0 {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	rest, ofAgent := strings.CutPrefix(at, agents+"/")
	if !ofAgent {
		rest = strings.TrimPrefix(strings.TrimPrefix(at, systems+"/"), root+"/Managers/")
	}
	name, _, _ := strings.Cut(rest, "/")
	h := i.Host(name)
	if h == nil {
		http.NotFound(w, r)
		return
	}
	if ofAgent {
		write(w, h.answerAgent(r, body))
		return
	}
	if f := i.hostFault(name, AtRequest); f != nil {
		if f.Delay > 0 && !f.wait(r.Context(), i.ends) || f.Status == 0 && f.Delay == 0 {
			panic(http.ErrAbortHandler)
		}
		if f.Status != 0 {
			http.Error(w, http.StatusText(f.Status), f.Status)
			return
		}
	}
	write(w, h.answerBMC(r, at, body))
}

// answerAgent is what the agent says, if one runs.
func (h *Host) answerAgent(r *http.Request, body map[string]any) any {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.agent == nil {
		panic(http.ErrAbortHandler)
	}
	answer := h.agent.answer(r, body)
	text, err := json.Marshal(answer) // under the lock: steps change
	if err != nil {
		panic(err)
	}
	if status, is := answer.(int); is {
		return status
	}
	return json.RawMessage(text)
}

// write answers v: a number is a status.
func write(w http.ResponseWriter, v any) {
	if status, is := v.(int); is {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // who asked may be gone
}

func link(at string) map[string]any { return map[string]any{"@odata.id": at} }

// answerBMC is what the BMC says: a system and its manager, with as much as Ironic reads.
// Source: Redfish schemas ComputerSystem, Manager, VirtualMedia.
func (h *Host) answerBMC(r *http.Request, at string, body map[string]any) any {
	h.mu.Lock()
	defer h.mu.Unlock()
	if user, password, _ := r.BasicAuth(); user != BMCUser || password != h.password {
		return http.StatusUnauthorized
	}
	what := strings.TrimPrefix(strings.Replace(at, "/"+h.name, "", 1), root)
	switch r.Method {
	case http.MethodGet:
		if v := h.resource(what, at); v != nil {
			maps.Copy(v, map[string]any{"@odata.id": at, "Id": path.Base(at), "Name": path.Base(at), "Status": enabled()})
			return v
		}
	case http.MethodPatch:
		if settings, _ := body["Attributes"].(map[string]any); what == "/Systems/Bios/Settings" && settings != nil {
			for name := range settings {
				if h.settings[name] == nil {
					return http.StatusBadRequest // the host has no such setting
				}
			}
			h.pending = settings
			return http.StatusNoContent
		}
		if boot, _ := body["Boot"].(map[string]any); what == "/Systems" && boot != nil {
			if target, ok := boot["BootSourceOverrideTarget"].(string); ok {
				h.target = target
			}
			if enabled, ok := boot["BootSourceOverrideEnabled"].(string); ok { // Ironic sends it if it differs
				h.always = enabled == "Continuous"
			}
			return http.StatusNoContent
		}
	case http.MethodPost:
		return h.action(r.Context(), what, body)
	}
	return http.StatusNotFound
}

func enabled() map[string]any { return map[string]any{"State": "Enabled", "Health": "OK"} }

// action carries out a posted action, and returns the status of the answer.
func (h *Host) action(ctx context.Context, what string, body map[string]any) int {
	image, _ := body["Image"].(string)
	switch what {
	case "/Systems/Reset":
		kind, _ := body["ResetType"].(string)
		restart := strings.HasSuffix(kind, "Restart")
		h.reset(kind == "On" || restart, restart)
	case "/Managers/VirtualMedia/1/Insert", "/Managers/VirtualMedia/1/Eject":
		h.media = image
	case "/Managers/VirtualMedia/2/Eject":
		h.stick, h.drive = "", nil
	case "/Managers/VirtualMedia/2/Insert":
		drive, err := h.i.readDrive(ctx, image)
		if err != nil {
			h.i.say("%s: virtual USB stick: %v", h.name, err)
			return http.StatusBadRequest
		}
		h.stick, h.drive = image, drive
	default:
		return http.StatusNotFound
	}
	return http.StatusNoContent
}

// readDrive returns the files of a config drive that is published.
func (i *Ironic) readDrive(ctx context.Context, from string) (map[string]string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	iso, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %w", from, resp.Status, err)
	}
	return i.unpackISO(ctx, iso)
}

// resource returns the resource at a path; nil: there is none.
func (h *Host) resource(what, at string) map[string]any {
	switch what {
	case "/Systems":
		return h.system(at)
	case "/Managers":
		return map[string]any{"ManagerType": "BMC", "VirtualMedia": link(at + "/VirtualMedia")}
	case "/Managers/VirtualMedia":
		return map[string]any{"Members": []any{link(at + "/1"), link(at + "/2")}, "Members@odata.count": 2}
	case "/Systems/Processors", "/Systems/SimpleStorage", "/Systems/EthernetInterfaces":
		return map[string]any{"Members": []any{link(at + "/1")}, "Members@odata.count": 1}
	case "/Systems/Bios":
		return map[string]any{"Attributes": maps.Clone(h.settings), "@Redfish.Settings": map[string]any{"SettingsObject": link(at + "/Settings")}}
	case "/Systems/Bios/Settings":
		return map[string]any{"Attributes": maps.Clone(h.pending)}
	case "/Systems/Processors/1":
		return map[string]any{"ProcessorType": "CPU", "ProcessorArchitecture": "x86", "InstructionSet": "x86-64", "TotalThreads": 8}
	case "/Systems/SimpleStorage/1":
		return map[string]any{"Devices": []any{map[string]any{"Name": "sda", "CapacityBytes": 100 << 30, "Status": enabled()}}}
	case "/Systems/EthernetInterfaces/1":
		return map[string]any{"MACAddress": h.mac}
	case "/Managers/VirtualMedia/1":
		return virtualDrive(at, "CD", h.media)
	case "/Managers/VirtualMedia/2":
		return virtualDrive(at, "USBStick", h.stick)
	}
	return nil
}

// virtualDrive is one, with an image in it or empty.
func virtualDrive(at, kind, image string) map[string]any {
	return map[string]any{
		"MediaTypes": []string{kind}, "Image": image, "Inserted": image != "", "Actions": map[string]any{
			"#VirtualMedia.InsertMedia": map[string]any{"target": at + "/Insert"}, "#VirtualMedia.EjectMedia": map[string]any{"target": at + "/Eject"},
		},
	}
}

// system is the host itself.
func (h *Host) system(at string) map[string]any {
	power := "Off"
	if h.shown {
		power = "On"
	}
	return map[string]any{
		"Manufacturer": "Fairlead", "Model": "lab", "SerialNumber": h.name, "PowerState": power,
		"Boot": map[string]any{
			"BootSourceOverrideTarget": h.target, "BootSourceOverrideEnabled": map[bool]string{true: "Continuous", false: "Once"}[h.always], "BootSourceOverrideMode": "UEFI",
			"BootSourceOverrideTarget@Redfish.AllowableValues": []string{targetCD, "Hdd", "None"},
		},
		"MemorySummary": map[string]any{"TotalSystemMemoryGiB": 16},
		"Bios":          link(at + "/Bios"), "Processors": link(at + "/Processors"), "SimpleStorage": link(at + "/SimpleStorage"), "EthernetInterfaces": link(at + "/EthernetInterfaces"),
		"Links": map[string]any{"ManagedBy": []any{link(root + "/Managers/" + h.name)}},
		"Actions": map[string]any{"#ComputerSystem.Reset": map[string]any{
			"target": at + "/Reset", "ResetType@Redfish.AllowableValues": []string{"On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart"},
		}},
	}
}
