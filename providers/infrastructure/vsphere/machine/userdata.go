package machine

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers"
)

// MetadataKey is the key of a machine's metadata; with ".encoding" behind it that of its
// encoding.
const MetadataKey = "guestinfo.metadata"

// The keys of the extra configuration from which a machine reads its boot data.
// Source: cloud-init, DataSourceVMware; Ignition, docs/supported-platforms.md.
const (
	userDataKey     = "guestinfo.userdata"
	ignitionKey     = "guestinfo.ignition.config.data"
	vendorDataKey   = "guestinfo.vendordata"
	encodingSuffix  = ".encoding"
	encodingBase64  = "base64"
	encodingGzipB64 = "gzip+base64"
)

// largestValue is how many characters a value of guestinfo may have, and UserDataLimit how
// many bytes that are in base64.
// Source: VMware KB 2081461; https://github.com/vmware/open-vm-tools, guestrpc's 64 KiB.
const (
	largestValue  = 65535
	UserDataLimit = largestValue / 4 * 3
)

// A Setting is one value of the extra configuration; an empty one removes it.
type Setting struct{ Key, Value string }

// userDataSettings returns the settings that hand u over. Those of another format than u's,
// which a template may have, are removed, and so are its metadata.
func userDataSettings(u providers.UserData) ([]Setting, error) {
	data, err := fit(u)
	if err != nil {
		return nil, err
	}
	key, other := userDataKey, ignitionKey
	if u.Format == "ignition" {
		key, other = ignitionKey, userDataKey
	}
	encoding := encodingBase64
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		encoding = encodingGzipB64
	}
	out := []Setting{{key, base64.StdEncoding.EncodeToString(data)}, {key + encodingSuffix, encoding}}
	for _, k := range []string{other, vendorDataKey, MetadataKey} {
		out = append(out, Setting{k, ""}, Setting{k + encodingSuffix, ""})
	}
	return out, nil
}

// LimitUserData refuses user data that does not fit.
func LimitUserData(u providers.UserData) error {
	_, err := fit(u)
	return err
}

// fit returns the content of u in at most UserDataLimit bytes: compressed where it is larger,
// which Ignition undoes too where the encoding says so. What does not fit even so is Invalid.
func fit(u providers.UserData) ([]byte, error) {
	if u.Format == "ignition" && len(u.Content.Reveal()) > UserDataLimit {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		if _, err := z.Write(u.Content.Reveal()); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		if b.Len() <= UserDataLimit {
			return b.Bytes(), nil
		}
	}
	return u.Fit(UserDataLimit)
}

// clearedUserData are the settings that take the user data out of a VM. Its metadata stays:
// without that cloud-init would take it for another machine when it boots again.
func clearedUserData() []Setting {
	var out []Setting
	for _, k := range []string{userDataKey, ignitionKey} {
		out = append(out, Setting{k, ""}, Setting{k + encodingSuffix, ""})
	}
	return out
}

// options returns settings as vCenter takes them.
func options(settings []Setting) []types.BaseOptionValue {
	out := make([]types.BaseOptionValue, 0, len(settings))
	for _, s := range settings {
		out = append(out, &types.OptionValue{Key: s.Key, Value: s.Value})
	}
	return out
}

// encode returns text as a value of guestinfo.
func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
