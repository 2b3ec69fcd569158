"""belated as a search of scikit-learn's (pip install belated[sklearn]).

>>> from sklearn.datasets import load_iris
>>> from sklearn.svm import SVC
>>> from belated import Real
>>> from belated.integrations.sklearn import BelatedSearchCV
>>> space = {"C": Real(0.01, 100, log=True), "gamma": Real(0.001, 10, log=True)}
>>> search = BelatedSearchCV(SVC(), space, n_iter=8, cv=3, random_state=0).fit(*load_iris(return_X_y=True))
>>> bool(search.best_score_ > 0.95)
True
"""

from belated.integrations.sklearn.search import BelatedSearchCV

__all__ = ["BelatedSearchCV"]
