package ignition

import (
	"fmt"
	"strings"

	"github.com/coreos/butane/config/common"
	fcos1_4 "github.com/coreos/butane/config/fcos/v1_4"
	fcos1_5 "github.com/coreos/butane/config/fcos/v1_5"
	flatcar1_0 "github.com/coreos/butane/config/flatcar/v1_0"
	flatcar1_1 "github.com/coreos/butane/config/flatcar/v1_1"
	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/coreos/vcontext/report"
)

// readButane reads a Butane config of a version that gives specification 3.3 or
// 3.4. The version of the result is the one that was asked for.
func readButane(data []byte, variant, version string, strict bool) (types.Config, error) {
	var translate func([]byte, common.TranslateBytesOptions) ([]byte, report.Report, error)
	gives := versionNext
	switch variant + " " + version {
	case "flatcar 1.0.0":
		translate, gives = flatcar1_0.ToIgn3_3Bytes, "3.3.0"
	case "flatcar 1.1.0":
		translate = flatcar1_1.ToIgn3_4Bytes
	case "fcos 1.4.0":
		translate, gives = fcos1_4.ToIgn3_3Bytes, "3.3.0"
	case "fcos 1.5.0":
		translate = fcos1_5.ToIgn3_4Bytes
	default:
		return types.Config{}, fmt.Errorf("variant %q, version %q: Butane configs of flatcar 1.0.0 and 1.1.0 and of fcos 1.4.0 and 1.5.0 are read", variant, version)
	}
	raw, r, err := translate(data, common.TranslateBytesOptions{Raw: true})
	if unused := notUsed(r); err == nil && len(unused.Entries) > 0 {
		r, err = unused, common.ErrInvalidSourceConfig
	}
	if err != nil || strict && len(r.Entries) > 0 {
		return types.Config{}, reported(r, err)
	}
	out, r, err := v3_4.ParseCompatibleVersion(raw)
	if err != nil {
		return types.Config{}, reported(r, err)
	}
	out.Ignition.Version = gives
	return out, nil
}

// notUsed returns the warnings about keys that Butane does not know.
func notUsed(r report.Report) report.Report {
	var out report.Report
	for _, e := range r.Entries {
		if strings.HasPrefix(e.Message, "unused key ") {
			out.Entries = append(out.Entries, e)
		}
	}
	return out
}
