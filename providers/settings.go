package providers

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// A Setting is a setting of a provider: the flag "--<provider>-<name>", or the environment
// variable FAIRLEAD_<PROVIDER>_<NAME>.
type Setting struct{ Name, Usage string }

// SettingsOf returns the settings of a provider whose own options are the struct defaults: the fields
// with a tag `setting:"NAME" usage:"…"`, also those of structs in it. The help names the default of a
// field that is not a text. In usage, 'word' is what stands for the value.
func SettingsOf(defaults any) []Setting {
	var out []Setting
	for _, f := range settingFields(reflect.ValueOf(defaults)) {
		usage := strings.ReplaceAll(f.tag.Get("usage"), "'", "`")
		if f.value.Kind() != reflect.String {
			usage += fmt.Sprintf(" (default %v)", f.value)
		}
		out = append(out, Setting{Name: f.tag.Get("setting"), Usage: usage})
	}
	return out
}

// ReadSettings sets the fields of own, a pointer to what SettingsOf was given, to the settings of o.
// Numbers are above zero, and so are durations without the tag `zero:"true"`, which may be zero. What
// cannot be is refused with the words of refusal.
func (o Options) ReadSettings(provider string, own any, refusal string) error {
	for _, f := range settingFields(reflect.ValueOf(own).Elem()) {
		name := f.tag.Get("setting")
		if text := o.Settings[name]; text != "" && !parseSetting(text, f) {
			return fleet.Errorf(fleet.Invalid, "open infrastructure provider "+provider, "setting %s: %q %s", name, text, refusal)
		}
	}
	return nil
}

type settingField struct {
	tag   reflect.StructTag
	value reflect.Value
}

func settingFields(of reflect.Value) []settingField {
	var out []settingField
	for i := range of.NumField() {
		tag, value := of.Type().Field(i).Tag, of.Field(i)
		switch _, ok := tag.Lookup("setting"); {
		case ok:
			out = append(out, settingField{tag, value})
		case value.Kind() == reflect.Struct:
			out = append(out, settingFields(value)...)
		}
	}
	return out
}

// parseSetting sets the field f, and reports whether text is a value of it.
func parseSetting(text string, f settingField) bool {
	switch at := f.value.Addr().Interface().(type) {
	case *time.Duration:
		d, err := time.ParseDuration(text)
		*at = d
		return err == nil && (d > 0 || d == 0 && f.tag.Get("zero") == "true")
	case *float64:
		number, err := strconv.ParseFloat(text, 64)
		*at = number
		return err == nil && number > 0
	case *bool:
		yes, err := strconv.ParseBool(text)
		*at = yes
		return err == nil
	case *string:
		*at = text
		return true
	}
	return false
}
