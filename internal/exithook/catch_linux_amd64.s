#include "textflag.h"

// TRAP, ABRT, STKFLT and SYS are left to the runtime if they are about what the thread
// itself has done: the kernel has raised them, or abort in C has.
#define SYNCHRONOUS (1<<5 | 1<<6 | 1<<16 | 1<<31)
#define SI_TKILL -6

// The handler. The kernel calls it as C would, with the signal in DI, a siginfo in
// SI and a context in DX, which must be intact for the runtime's handler.
TEXT caught<>(SB), NOSPLIT|NOFRAME, $0
	MOVL	DI, CX
	MOVL	$1, AX
	SHLL	CX, AX
	TESTL	AX, ·wanted(SB)
	JZ	runtime
	TESTL	$SYNCHRONOUS, AX
	JZ	keep
	MOVL	8(SI), R8 // si_code, positive from the kernel
	CMPL	R8, $0
	JGT	runtime
	CMPL	R8, $SI_TKILL
	JEQ	runtime
keep:
	LOCK
	BTRL	CX, ·passing(SB)
	JCS	runtime
	LOCK
	ORL	AX, ·pending(SB)
	MOVQ	·event(SB), DI
	LEAQ	one<>(SB), SI
	MOVL	$8, DX
	MOVL	$1, AX // write
	SYSCALL
	RET
runtime:
	MOVQ	·runtimeHandler(SB), AX
	JMP	AX

DATA one<>+0(SB)/8, $1
GLOBL one<>(SB), RODATA|NOPTR, $8

// func handler() uintptr
TEXT ·handler(SB), NOSPLIT, $0-8
	LEAQ	caught<>(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
