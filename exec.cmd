@rem Lets cmd.exe run the scripts of package.json that begin with `exec`, which makes signals reach the program in POSIX shells.
@%*
