package image

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imageimport"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// The tags of an image. Glance's URLs of tags have no room for a "/".
const (
	tagFleet = "fairlead.dev:fleet="
	tagKey   = "fairlead.dev:image="   // api.ImageSpec.Key
	tagUsed  = "fairlead.dev:cluster=" // a cluster that uses it
	tagKept  = "fairlead.dev:kept-by=" // a cluster that uses or used it, and wants it to stay
)

func clusterTag(prefix string, k fleet.Key) string { return prefix + k.Namespace + ":" + k.Name }

// clusters returns those that tags with a prefix name.
func clusters(i *images.Image, prefix string) []fleet.Key {
	var out []fleet.Key
	for _, t := range i.Tags {
		if rest, ok := strings.CutPrefix(t, prefix); ok {
			namespace, name, _ := strings.Cut(rest, ":")
			out = append(out, fleet.Key{Namespace: namespace, Name: name})
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}

func keyOf(i *images.Image) string {
	for _, t := range i.Tags {
		if key, ok := strings.CutPrefix(t, tagKey); ok {
			return key
		}
	}
	return ""
}

// list returns the images of the project that carry the mark of a fleet, as old as s
// or younger.
func list(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, id fleet.ID) ([]images.Image, error) {
	return cloud.Once(s, "images of "+string(id), func() ([]images.Image, error) {
		return listNow(ctx, p, tagFleet+string(id))
	})
}

// listNow asks for the images of the project that have tags. What tags of images of
// other projects say proves nothing.
func listNow(ctx context.Context, p *cloud.Project, tags ...string) ([]images.Image, error) {
	project, err := p.ID(ctx)
	if err != nil {
		return nil, err
	}
	return cloud.List(ctx, "images", p.Image, func(c *gophercloud.ServiceClient) pagination.Pager {
		return images.List(c, images.ListOpts{Owner: project, Tags: tags})
	}, images.ExtractImages)
}

// methods returns the ways in which Glance takes content.
func methods(ctx context.Context, p *cloud.Project) ([]string, error) {
	return cloud.Lookup(p, "ways to import images", func() ([]string, error) {
		c, err := p.Image(ctx)
		if err != nil {
			return nil, err
		}
		info, err := imageimport.Get(ctx, c).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return []string{}, nil // a Glance before the import of images
		}
		if err != nil {
			return nil, openstackauth.WrapLook("ask how images can be imported", err)
		}
		return info.ImportMethods.Value, nil
	}, func(got []string) bool { return slices.Contains(got, string(imageimport.WebDownloadMethod)) })
}

// A task is what Glance does about an image.
type task struct {
	Status    string `json:"status"` // pending, processing, success or failure
	Message   string `json:"message"`
	CreatedAt string `json:"created_at"`
}

// lastTask returns the youngest task of an image, nil where Glance tells of none.
func lastTask(ctx context.Context, p *cloud.Project, id string) (*task, error) {
	c, err := p.Image(ctx)
	if err != nil {
		return nil, err
	}
	var body struct {
		Tasks []task `json:"tasks"`
	}
	_, err = c.Get(ctx, c.ServiceURL("images", id, "tasks"), &body, nil) //nolint:bodyclose // gophercloud closes what it read
	if openstackauth.NotFound(err) || gophercloud.ResponseCodeIs(err, http.StatusForbidden) || err == nil && len(body.Tasks) == 0 {
		return nil, nil //nolint:nilnil // the contract
	}
	if err != nil {
		return nil, openstackauth.WrapLook("look at the tasks of image "+id, err)
	}
	last := slices.MaxFunc(body.Tasks, func(a, b task) int { return strings.Compare(a.CreatedAt, b.CreatedAt) })
	return &last, nil
}

// create makes the image of w for the cluster of o, without content.
func create(ctx context.Context, p *cloud.Project, o snapshot.Owner, w Want) (*images.Image, error) {
	c, err := p.Image(ctx)
	if err != nil {
		return nil, err
	}
	r := w.Spec.Resource
	opts := images.CreateOpts{
		Name: *r.Name, ContainerFormat: r.Content.ContainerFormat, DiskFormat: r.Content.DiskFormat, Protected: r.Protected,
		Tags: append([]string{tagFleet + string(o.Fleet), tagKey + w.Spec.Key(), clusterTag(w.tag(), o.Cluster)}, r.Tags...),
	}
	if r.Visibility != nil {
		v := images.ImageVisibility(*r.Visibility)
		opts.Visibility = &v
	}
	if q := r.Properties; q != nil {
		opts.Properties = properties(q)
		opts.MinDisk, opts.MinRAM = int(ptr.Deref(q.MinDiskGB, 0)), int(ptr.Deref(q.MinMemoryMB, 0))
	}
	return images.Create(ctx, c, opts).Extract()
}

// properties returns what q is called in Glance.
// Source: Glance, "Useful image properties".
func properties(q *api.ImageProperties) map[string]string {
	out := make(map[string]string)
	text := func(name string, s *string) {
		if s != nil {
			out[name] = *s
		}
	}
	number := func(name string, n *int32) {
		if n != nil {
			out[name] = strconv.Itoa(int(*n))
		}
	}
	text("architecture", q.Architecture)
	text("hypervisor_type", q.HypervisorType)
	if o := q.OperatingSystem; o != nil {
		text("os_distro", o.Distro)
		text("os_version", o.Version)
	}
	if h := q.Hardware; h != nil {
		number("hw_cpu_sockets", h.CPUSockets)
		number("hw_cpu_cores", h.CPUCores)
		number("hw_cpu_threads", h.CPUThreads)
		text("hw_cpu_policy", h.CPUPolicy)
		text("hw_cpu_thread_policy", h.CPUThreadPolicy)
		text("hw_cdrom_bus", h.CDROMBus)
		text("hw_disk_bus", h.DiskBus)
		text("hw_scsi_model", h.SCSIModel)
		text("hw_vif_model", h.VIFModel)
		text("hw_rng_model", h.RngModel)
		if h.QemuGuestAgent != nil {
			out["hw_qemu_guest_agent"] = strconv.FormatBool(*h.QemuGuestAgent)
		}
	}
	return out
}

// download asks Glance for the content of an image. One that it is working on
// already is fine.
func download(ctx context.Context, p *cloud.Project, id, from string) error {
	c, err := p.Image(ctx)
	if err != nil {
		return err
	}
	err = imageimport.Create(ctx, c, id, imageimport.CreateOpts{Name: imageimport.WebDownloadMethod, URI: from}).ExtractErr()
	if gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		return nil
	}
	return err
}

// tag puts a tag on an image, or takes it off. Tags of others stay unchanged.
func tag(ctx context.Context, p *cloud.Project, id, name string, on bool) error {
	c, err := p.Image(ctx)
	if err != nil {
		return err
	}
	at := c.ServiceURL("images", id, "tags", url.PathEscape(name))
	method := http.MethodDelete
	if on {
		method = http.MethodPut
	}
	_, err = c.Request(ctx, method, at, &gophercloud.RequestOpts{OkCodes: []int{http.StatusNoContent}}) //nolint:bodyclose // gophercloud closes an unread body
	if !on && openstackauth.NotFound(err) {
		return nil
	}
	return err
}

// remove deletes an image. It reports false where Glance keeps it: others have
// something that is made of it, or it is protected by now.
func remove(ctx context.Context, p *cloud.Project, id string) (bool, error) {
	c, err := p.Image(ctx)
	if err != nil {
		return false, err
	}
	err = images.Delete(ctx, c, id).ExtractErr()
	switch {
	case err == nil, openstackauth.NotFound(err):
		return true, nil
	case gophercloud.ResponseCodeIs(err, http.StatusConflict), gophercloud.ResponseCodeIs(err, http.StatusForbidden):
		return false, nil
	}
	return false, err
}

// noWay says that Glance does not download.
func noWay(have []string) error {
	others := "no other way either"
	if len(have) > 0 {
		others = strings.Join(have, ", ")
	}
	return fleet.Errorf(fleet.Invalid, "have Glance download it",
		"it does not do that here (it offers %s): upload the image, and have the Image find it with managementPolicy unmanaged and import.filter", others)
}
