// limits PID: lowers the number of files that a process may open
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
int main(int c,char**v){struct rlimit l={4,4};
 if(prlimit(atoi(v[1]),RLIMIT_NOFILE,&l,0))printf("limits: refused: %s\n",strerror(errno));else printf("limits: set\n");}
