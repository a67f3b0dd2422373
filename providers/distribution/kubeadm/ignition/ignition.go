package ignition

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/clarketm/json" // leaves empty structs out
	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/coreos/vcontext/report"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// The versions of the specification, the first of what this package is given.
const (
	version     = "3.3.0"
	versionNext = "3.4.0"
)

// Compile merges additional into base, where it takes precedence, and returns
// Ignition's JSON. Equal arguments give equal bytes. With strict warnings are
// errors. base has nothing but modes that specification 3.3 does not have.
// Source of the merge: coreos.github.io/ignition/operator-notes, "Config merging".
func Compile(base types.Config, additional string, strict bool) ([]byte, error) {
	asked := version
	if strings.TrimSpace(additional) != "" {
		addition, err := read([]byte(additional), strict)
		if err != nil {
			return nil, fleet.FieldErrorf("ignition.containerLinuxConfig.additionalConfig", "%w", err)
		}
		asked = cmp.Or(addition.Ignition.Version, asked)
		base = v3_4.Merge(base, addition)
	}
	base.Ignition.Version = asked
	if hasSpecialModes(base) {
		base.Ignition.Version = versionNext
	}
	out, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	if _, r, err := v3_4.ParseCompatibleVersion(out); err != nil || strict && len(r.Entries) > 0 {
		return nil, fmt.Errorf("ignition refuses the config: %w", reported(r, err))
	}
	return out, nil
}

// hasSpecialModes reports whether a mode sets user or group or is sticky, which
// is left out without a word before specification 3.4.
func hasSpecialModes(c types.Config) bool {
	const special = 0o7000
	for _, f := range c.Storage.Files {
		if f.Mode != nil && *f.Mode&special != 0 {
			return true
		}
	}
	for _, d := range c.Storage.Directories {
		if d.Mode != nil && *d.Mode&special != 0 {
			return true
		}
	}
	return false
}

// read translates what the user adds.
func read(data []byte, strict bool) (types.Config, error) {
	var head struct {
		Variant string `yaml:"variant"`
		Version string `yaml:"version"`
	}
	data, err := documents.Plain(data, documents.DefaultLimits()) // Butane has a parser of its own
	if err != nil {
		return types.Config{}, err
	}
	if err := documents.Decode(data, &head, false, documents.BuiltLimits()); err != nil {
		return types.Config{}, err
	}
	if head.Variant != "" {
		return readButane(data, head.Variant, head.Version, strict)
	}
	if head.Version != "" {
		return types.Config{}, errors.New("version: a Butane config has a variant as well, flatcar or fcos; a Container Linux Config has neither")
	}
	return readContainerLinux(data)
}

// reported returns the content of a report as an error; err if it is empty.
func reported(r report.Report, err error) error {
	var lines []string
	for _, e := range r.Entries {
		line := e.Message
		if e.Context.Len() > 0 {
			line = strings.TrimPrefix(e.Context.String(), "$.") + ": " + line
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return err
	}
	return errors.New(strings.Join(lines, "; "))
}

// DataURL returns a URL that holds content, in the shorter of its two forms.
// Source: RFC 2397.
func DataURL(content []byte) string {
	plain := strings.ReplaceAll(url.QueryEscape(string(content)), "+", "%20")
	if coded := base64.StdEncoding.EncodeToString(content); len(coded)+len(";base64") < len(plain) {
		return "data:;base64," + coded
	}
	return "data:," + plain
}
