package machine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// NodeID is the provider id of a machine in variables of user data, which cloud-init fills in
// from the metadata.
const NodeID = "{{ ds.meta_data.provider_id }}"

// withProviderID puts id where the distribution wrote NodeID into files of an Ignition
// configuration: Ignition fills in nothing. A configuration that cannot be read stays
// unchanged; the machine says what is wrong with it.
func withProviderID(u providers.UserData, id fleet.ProviderID) providers.UserData {
	if u.Format != "ignition" {
		return u
	}
	var config map[string]any
	if json.Unmarshal(u.Content.Reveal(), &config) != nil {
		return u
	}
	storage, _ := config["storage"].(map[string]any)
	files, _ := storage["files"].([]any)
	changed := false
	for _, f := range files {
		file, _ := f.(map[string]any)
		contents, _ := file["contents"].(map[string]any)
		source, _ := contents["source"].(string)
		if text, ok := decodeDataURL(source); ok && bytes.Contains(text, []byte(NodeID)) {
			text = bytes.ReplaceAll(text, []byte(NodeID), []byte(id))
			contents["source"] = "data:;base64," + base64.StdEncoding.EncodeToString(text)
			changed = true
		}
	}
	if out, err := json.Marshal(config); err == nil && changed {
		u.Content = fleet.NewSecret(out)
	}
	return u
}

// decodeDataURL returns what a data URL holds (RFC 2397).
func decodeDataURL(source string) ([]byte, bool) {
	rest, ok := strings.CutPrefix(source, "data:")
	if !ok {
		return nil, false
	}
	kind, data, ok := strings.Cut(rest, ",")
	if !ok {
		return nil, false
	}
	if strings.HasSuffix(kind, ";base64") {
		out, err := base64.StdEncoding.DecodeString(data)
		return out, err == nil
	}
	out, err := url.PathUnescape(data)
	return []byte(out), err == nil
}
