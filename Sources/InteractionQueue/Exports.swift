// What all modules share; programs that import this one get it, too.
@_exported public import Inturn
