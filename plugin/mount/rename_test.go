package mount

import (
	"strings"
	"testing"
)

// TestRenamed: no name of a volume, a claim or a disk is left, and the table tells the same.
func TestRenamed(t *testing.T) {
	t.Parallel()
	const volumes = pod + `1440 1437 254:1 /var/lib/kubelet/pods/1f0e/etc-hosts /etc/hosts rw - ext4 /dev/vda1 rw
1450 1437 254:1 /var/lib/kubelet/pods/1f0e/volumes/kubernetes.io~secret/pay-key /srv/key ro - tmpfs tmpfs rw
1451 1437 0:99 / /var/cache rw - tmpfs tmpfs rw
1452 1437 254:1 /srv/old//deleted /srv/new rw - ext4 /dev/vda1 rw
1453 27 0:50 / /var/lib/kubelet/pods/2b/volumes/kubernetes.io~csi/claim-7/mount rw - ext4 /dev/vdb rw
`
	sameTold(t, volumes)
	got := string(Renamed([]byte(volumes)))
	for _, name := range []string{"pay-key", "1f0e", "claim-7", "vda1", "overlay", "/srv/old"} {
		if strings.Contains(got, name) {
			t.Errorf("%s is left:\n%s", name, got)
		}
	}
	for _, line := range []string{"/etc-hosts /etc/hosts", "/elsewhere /srv/key", "/elsewhere /var/cache", "/elsewhere//deleted /srv/new",
		`/elsewhere /mnt/with\040space\134and\011tab`, "/ /opt/cni/bin", "/ /run/containerd"} {
		if !strings.Contains(got, " "+line+" -\n") {
			t.Errorf("no line of %q:\n%s", line, got)
		}
	}
	if _, err := Parse(strings.NewReader(string(Renamed([]byte("cut line\n"))))); err == nil {
		t.Error("what could not be read can be read when it is renamed")
	}
}

// sameTold holds the renamed table to what the table tells, and to itself when it is renamed again.
func sameTold(t *testing.T, text string) {
	t.Helper()
	was, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	once := Renamed([]byte(text))
	is, err := Parse(strings.NewReader(string(once)))
	if err != nil {
		t.Fatalf("renamed it cannot be read: %v\n%s", err, once)
	}
	if twice := Renamed(once); string(twice) != string(once) {
		t.Errorf("renamed again it changes:\n%s\n%s", once, twice)
	}
	if was.InPod() != is.InPod() {
		t.Errorf("in a pod %t, renamed %t", was.InPod(), is.InPod())
	}
	for point := range was {
		if strings.Contains(point, "/kubelet/") {
			continue
		}
		if was.Strange(point) != is.Strange(point) || was.Gone(point) != is.Gone(point) || was.Over(point) != is.Over(point) {
			t.Errorf("%q: %+v is told as %+v", point, was[point], is[point])
		}
	}
}
