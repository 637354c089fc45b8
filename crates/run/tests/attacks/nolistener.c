// runs a command as on a kernel (gVisor, before 5.0) that knows no listeners: seccomp with a flag is EINVAL
#include <errno.h>
#include <stddef.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
int main(int c,char**v){prctl(PR_SET_NO_NEW_PRIVS,1,0,0,0);
 struct sock_filter f[]={BPF_STMT(BPF_LD|BPF_W|BPF_ABS,offsetof(struct seccomp_data,nr)),BPF_JUMP(BPF_JMP|BPF_JEQ|BPF_K,SYS_seccomp,0,1),BPF_STMT(BPF_RET|BPF_K,SECCOMP_RET_ERRNO|EINVAL),BPF_STMT(BPF_RET|BPF_K,SECCOMP_RET_ALLOW)};
 struct sock_fprog p={4,f};prctl(PR_SET_SECCOMP,SECCOMP_MODE_FILTER,&p);execvp(v[1],v+1);return 9;}
