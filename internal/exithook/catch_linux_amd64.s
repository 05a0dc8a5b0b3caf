#include "textflag.h"

// Signals that the kernel raises for what a thread has done: TRAP, STKFLT and SYS.
#define SYNCHRONOUS (1<<5 | 1<<16 | 1<<31)

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
	CMPL	8(SI), $0 // si_code: positive if the kernel raised it
	JGT	runtime
keep:
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
