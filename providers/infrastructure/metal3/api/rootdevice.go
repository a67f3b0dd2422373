package api

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RootDevice returns Ironic's property root_device; nil where nothing is said, which lets
// Ironic take the smallest disk that an image fits on.
// Source: baremetal-operator, pkg/provisioner/ironic/devicehints.
func (h *RootDeviceHints) RootDevice() map[string]string {
	if h == nil || *h == (RootDeviceHints{}) {
		return nil
	}
	out := make(map[string]string)
	is := func(name, operator, value string) {
		if value != "" {
			out[name] = operator + " " + value
		}
	}
	if strings.HasPrefix(h.DeviceName, byPath) {
		is("by_path", "s==", h.DeviceName)
	} else {
		is("name", "s==", h.DeviceName)
	}
	is("hctl", "s==", h.HCTL)
	is("model", "<in>", h.Model)
	is("vendor", "<in>", h.Vendor)
	is("serial", "s==", h.SerialNumber)
	is("wwn", "s==", h.WWN)
	is("wwn_with_extension", "s==", h.WWNWithExtension)
	is("wwn_vendor_extension", "s==", h.WWNVendorExtension)
	if h.MinSizeGigabytes > 0 {
		out["size"] = fmt.Sprintf(">= %d", h.MinSizeGigabytes)
	}
	if h.Rotational != nil {
		out["rotational"] = strconv.FormatBool(*h.Rotational)
	}
	return out
}

const byPath = "/dev/disk/by-path/"

var (
	deviceForm = regexp.MustCompile(`^/dev/(disk/by-path/)?[^/\s]+$`)
	hctlForm   = regexp.MustCompile(`^[0-9]+:[0-9]+:[0-9]+:[0-9]+$`)
)

// hints checks which disk is meant; nil is any.
func (v *validator) hints(at *field.Path, h *RootDeviceHints) {
	if h == nil {
		return
	}
	if h.DeviceName != "" && !deviceForm.MatchString(h.DeviceName) {
		v.Invalid(at.Child("deviceName"), h.DeviceName, "must be /dev/ with a name, such as /dev/sda, or below "+byPath)
	}
	if h.HCTL != "" && !hctlForm.MatchString(h.HCTL) {
		v.Invalid(at.Child("hctl"), h.HCTL, `must be four numbers: host, channel, target and LUN, such as "0:0:0:0"`)
	}
	if h.MinSizeGigabytes < 0 {
		v.Invalid(at.Child("minSizeGigabytes"), h.MinSizeGigabytes, "must not be negative")
	}
	of := reflect.ValueOf(*h)
	for i := range of.NumField() {
		if s, ok := of.Field(i).Interface().(string); ok && s != "" && s != strings.TrimSpace(s) {
			name, _, _ := strings.Cut(of.Type().Field(i).Tag.Get("json"), ",")
			v.Invalid(at.Child(name), s, "must not begin or end with a blank: Ironic takes it away, and finds no disk")
		}
	}
}
