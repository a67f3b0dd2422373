package openstacktest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Volumes are the kind of Cinder.
const Volumes Kind = "volumes"

// volumeTypes are the volume types of every region.
var volumeTypes = []string{"fast", "slow"} //nolint:gochecknoglobals // never changed

const cinderTime = "2006-01-02T15:04:05.000000"

func (c *Cloud) volumeService() *service {
	version := Object{"id": "v3.0", "status": "CURRENT", "version": "3.70", "min_version": "3.0", "updated": "2018-07-17T00:00:00Z", "links": []Object{}}
	s := &service{
		kind: "block-storage", name: "cinder", prefix: "volume", version: "/v3", suffix: "/v3/{project}",
		refuse: novaError,
		stamp: func(o Object, now time.Time) {
			o["created_at"], o["updated_at"] = now.UTC().Format(cinderTime), nil
			o["os-vol-tenant-attr:tenant_id"] = o["project_id"]
		},
	}
	c.kinds[Volumes] = &spec{kind: Volumes, service: s, one: "volume"}
	all := "/v3/{project}/volumes"
	s.routes = []route{
		{"GET", "/{$}", http.StatusMultipleChoices, func(*call) (any, error) { return Object{"versions": []Object{version}}, nil }},
		{"GET", "/v3", http.StatusOK, func(*call) (any, error) { return Object{"versions": []Object{version}}, nil }},
		{"GET", "/v3/{$}", http.StatusOK, func(*call) (any, error) { return Object{"versions": []Object{version}}, nil }},
		{"GET", all, http.StatusOK, listVolumes},
		{"GET", all + "/detail", http.StatusOK, listVolumes},
		{"POST", all, http.StatusAccepted, createVolume},
		{"GET", all + "/{id}", http.StatusOK, getVolume},
		{"PUT", all + "/{id}", http.StatusOK, updateVolume},
		{"DELETE", all + "/{id}", http.StatusAccepted, deleteVolume},
		{"GET", "/v3/{project}/types", http.StatusOK, listVolumeTypes},
		{"GET", "/v3/{project}/os-availability-zone", http.StatusOK, func(*call) (any, error) {
			return Object{"availabilityZoneInfo": []Object{{"zoneName": "nova", "zoneState": Object{"available": true}}}}, nil
		}},
	}
	return s
}

func listVolumeTypes(*call) (any, error) {
	var out []Object
	for _, t := range volumeTypes {
		out = append(out, Object{"id": "type-" + t, "name": t, "description": "", "is_public": true, "extra_specs": Object{}})
	}
	return Object{"volume_types": out}, nil
}

func listVolumes(k *call) (any, error) {
	all := slices.Clone(k.visible(Volumes))
	if !k.query.Has("all_tenants") {
		all = slices.DeleteFunc(all, func(o Object) bool { return o.String("project_id") != k.project })
	}
	slices.Reverse(all) // the newest first
	all, _ = k.filter(all, func(string) bool { return true }, "all_tenants", "sort", "offset", "metadata")
	page, next, ok := k.page(all, "id")
	if !ok {
		return nil, refuse(http.StatusNotFound, "", "Volume %s could not be found.", k.query.Get("marker"))
	}
	for i, v := range page {
		page[i] = v.without("project_id")
	}
	return k.listing("volumes", page, next), nil
}

func createVolume(k *call) (any, error) {
	in := k.body.Object("volume")
	id, err := k.makeVolume(k.project, in)
	if err != nil {
		return nil, err
	}
	return Object{"volume": k.find(Volumes, id).without("project_id")}, nil
}

func (k *call) makeVolume(project string, in Object) (string, error) {
	if limit, ok := k.r.quota(project, "volumes"); ok && len(k.r.tables[Volumes].where("project_id", project)) >= limit {
		return "", refuse(http.StatusRequestEntityTooLarge, "", "VolumeLimitExceeded: Maximum number of volumes allowed (%d) exceeded for quota 'volumes'.", limit)
	}
	if t := in.String("volume_type"); t != "" && !slices.Contains(volumeTypes, strings.TrimPrefix(t, "type-")) {
		return "", refuse(http.StatusNotFound, "", "Volume type with name %s could not be found.", t)
	}
	if zone := in.String("availability_zone"); zone != "" && zone != "nova" && !slices.Contains(zones, zone) {
		return "", refuse(http.StatusBadRequest, "", "Availability zone '%s' is invalid.", zone)
	}
	if in.Int("size") <= 0 && !in.has("source_volid") && !in.has("snapshot_id") {
		return "", refuse(http.StatusBadRequest, "", "Volume size must be an integer and greater than 0")
	}
	o := Object{
		"name": in["name"], "description": in["description"], "size": in.Int("size"), "status": "creating", "volume_type": in["volume_type"],
		"availability_zone": "nova", "metadata": orEmpty(in.Object("metadata")), "attachments": []Object{}, "bootable": "false",
		"encrypted": false, "multiattach": false, "snapshot_id": nil, "source_volid": nil, "user_id": k.user.id, "replication_status": nil,
	}
	if in.has("availability_zone") {
		o["availability_zone"] = in["availability_zone"]
	}
	if in.has("imageRef") {
		if k.find(Images, in.String("imageRef")) == nil {
			return "", refuse(http.StatusBadRequest, "", "Invalid image identifier or unable to access requested image.")
		}
		o["bootable"], o["volume_image_metadata"] = "true", Object{"image_id": in["imageRef"]}
	}
	id := k.put(k.r, Volumes, project, o)
	w := *k
	k.after(k.options.Delays.Volume, func() {
		v := w.r.tables[Volumes].get(id)
		if v == nil || v.String("status") != "creating" {
			return
		}
		v["status"] = "available"
		if w.options.FailVolume != nil && w.options.FailVolume(v.clone()) {
			v["status"] = "error"
		}
	})
	return id, nil
}

// volume returns the volume that a request is about.
func (k *call) volume(id string) (Object, error) {
	v := k.find(Volumes, id)
	if v == nil {
		return nil, refuse(http.StatusNotFound, "", "Volume %s could not be found.", id)
	}
	return v, nil
}

func getVolume(k *call) (any, error) {
	v, err := k.volume(k.arg("id"))
	if err != nil {
		return nil, err
	}
	return Object{"volume": v.without("project_id")}, nil
}

func updateVolume(k *call) (any, error) {
	v, err := k.volume(k.arg("id"))
	if err != nil {
		return nil, err
	}
	for key, x := range k.body.Object("volume") {
		v[key] = x
	}
	return Object{"volume": v.without("project_id")}, nil
}

func deleteVolume(k *call) (any, error) {
	v, err := k.volume(k.arg("id"))
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"available", "error", "error_restoring", "error_extending", "error_managing"}, v.String("status")) || len(v.Objects("attachments")) > 0 {
		return nil, refuse(http.StatusBadRequest, "", "Invalid volume: Volume status must be available or error or error_restoring or "+
			"error_extending or error_managing and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated from snapshots after volume transfer.")
	}
	k.deleteVolumeLater(v)
	return nil, nil
}

func (k *call) deleteVolumeLater(v Object) {
	v["status"] = "deleting"
	w := *k
	k.after(k.options.Delays.Volume, func() { (&w).drop(Volumes, v.ID()) })
}
