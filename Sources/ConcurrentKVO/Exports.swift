// What all modules share: programs that import this one have it, too.
@_exported public import Inturn
