// a start that fails for the kernel's reasons, then: who traces me?
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(){char line[256];execl("/etc/passwd","passwd",(char*)0);execl("./no-such-program","x",(char*)0);
 FILE*f=fopen("/proc/self/status","r");while(fgets(line,256,f))if(!strncmp(line,"TracerPid",9))fputs(line,stdout);return 0;}
