package openstacktest

import (
	"fmt"
	"net/http"
	"slices"
)

// volumesFor makes and attaches the volumes that a new server asks for. The
// result is the fault where that cannot be done.
func (k *call) volumesFor(s, in Object) string {
	for _, d := range in.Objects("block_device_mapping_v2") {
		if d.String("destination_type") != "volume" {
			continue
		}
		id := d.String("uuid")
		if d.String("source_type") != "volume" {
			request := Object{"size": d["volume_size"], "name": "", "volume_type": d["volume_type"]}
			if d.String("source_type") == "image" {
				request["imageRef"] = id
			}
			var err error
			if id, err = k.makeVolume(s.String("project_id"), request); err != nil {
				return fmt.Sprintf("Build of instance %s aborted: %s", s.ID(), err)
			}
		}
		v := k.r.tables[Volumes].get(id)
		switch {
		case v == nil:
			return fmt.Sprintf("Build of instance %s aborted: Volume %s could not be found.", s.ID(), id)
		case v.String("status") == "error":
			return fmt.Sprintf("Build of instance %s aborted: Volume %s did not finish being created even after we waited 3 seconds or 2 attempts. And its status is error.", s.ID(), id)
		case len(v.Objects("attachments")) > 0:
			return fmt.Sprintf("Build of instance %s aborted: Invalid volume: volume %s is already attached", s.ID(), id)
		}
		k.attach(s, v, d.Bool("delete_on_termination"))
	}
	return ""
}

// attach gives a volume to a server.
func (k *call) attach(s, v Object, deleteWithServer bool) {
	attached := s.Objects("os-extended-volumes:volumes_attached")
	device := fmt.Sprintf("/dev/vd%c", 'a'+len(attached))
	s["os-extended-volumes:volumes_attached"] = append(attached, Object{"id": v.ID(), "delete_on_termination": deleteWithServer})
	v["status"] = "in-use"
	v["attachments"] = []Object{{
		"id": v.ID(), "attachment_id": k.newID(), "volume_id": v.ID(), "server_id": s.ID(), "device": device, "host_name": nil,
		"attached_at": k.now.UTC().Format(cinderTime),
	}}
}

// freeVolume takes a volume off its server.
func (k *call) freeVolume(id string, remove bool) {
	v := k.r.tables[Volumes].get(id)
	if v == nil {
		return
	}
	v["status"], v["attachments"] = "available", []Object{}
	if remove {
		k.deleteVolumeLater(v)
	}
}

func attachmentView(s Object, id string) Object {
	return Object{"id": id, "serverId": s.ID(), "volumeId": id, "device": "/dev/vdb", "tag": nil}
}

func listAttachments(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	out := []Object{}
	for _, a := range s.Objects("os-extended-volumes:volumes_attached") {
		out = append(out, attachmentView(s, a.ID()))
	}
	return Object{"volumeAttachments": out}, nil
}

func attachVolume(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	id := k.body.Object("volumeAttachment").String("volumeId")
	v := k.find(Volumes, id)
	if v == nil {
		return nil, refuse(http.StatusNotFound, "", "Volume %s could not be found.", id)
	}
	if holders := v.Objects("attachments"); len(holders) > 0 {
		return nil, refuse(http.StatusBadRequest, "", "Invalid volume: volume %s is already attached to instances: %s", id, holders[0].String("server_id"))
	}
	if v.String("status") != "available" {
		return nil, refuse(http.StatusBadRequest, "", "Invalid volume: volume '%s' status must be 'available' or 'downloading'. Currently in '%s'", id, v.String("status"))
	}
	k.attach(s, v, false)
	return Object{"volumeAttachment": attachmentView(s, id)}, nil
}

func detachVolume(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	id, attached := k.arg("volume"), s.Objects("os-extended-volumes:volumes_attached")
	if !slices.ContainsFunc(attached, func(a Object) bool { return a.ID() == id }) {
		return nil, refuse(http.StatusNotFound, "", "Instance %s is not attached to volume %s", s.ID(), id)
	}
	s["os-extended-volumes:volumes_attached"] = slices.DeleteFunc(slices.Clone(attached), func(a Object) bool { return a.ID() == id })
	k.freeVolume(id, false)
	return nil, nil
}
