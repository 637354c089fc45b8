// types into the terminal, and pastes what a mouse has marked there
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <asm/ioctls.h>
int main(){char c='x',paste=3;int a=ioctl(0,TIOCSTI,&c)?errno:0,b=ioctl(0,0xffffffff0000541c,&paste)?errno:0;
 printf("typed: refused: %s, %s\n",strerror(a),strerror(b));}
