"""`haptic generate`: write the equations of a mechanism as C, Python or LLVM text."""

import sys

from mbs_haptics.chosen import add_mechanism_arguments, chosen_mechanism

HELP = 'Write the generated equations of a mechanism as C, Python or LLVM text.'
LANGUAGES = ('c', 'python', 'llvm')


def add_arguments(parser):
    """Add the mechanism, the language and the file."""
    add_mechanism_arguments(parser)
    parser.add_argument('--emit', choices=LANGUAGES, default='c', help='language (default c)')
    parser.add_argument('--partitions', type=int, metavar='N', help='keep at most N partitions (1 for the smallest code)')
    parser.add_argument('-o', '--output', metavar='FILE', help='where to write; standard output if omitted')


def text_of(mechanism, language, partitions=None) -> str:
    """Return the generated text of a mechanism, with at most `partitions` partitions."""
    from mbs_core.runtime import generate_program
    program = generate_program(mechanism, partitions)[0]
    if language == 'c':
        from mbs_core.symbolic.printers.c import emit_c as emit
    elif language == 'python':
        from mbs_core.symbolic.printers.python import emit_python as emit
    else:
        from mbs_core.symbolic.printers.llvm import emit
    return emit(program)


def run(args):
    """Write the text and return the exit code."""
    if args.output:
        from mbs_haptics.plots import writable
        writable(args.output)
    text = text_of(chosen_mechanism(args), args.emit, args.partitions)
    if not args.output:
        sys.stdout.write(text)
        return 0
    with open(args.output, 'w', encoding='utf-8') as file:
        file.write(text)
    print(f'{args.output}: {len(text.splitlines())} lines of {args.emit}')
    return 0
